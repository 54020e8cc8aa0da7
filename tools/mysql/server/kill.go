package server

import (
	"context"
	"log/slog"
	"strconv"
)

// kill ends connection id in the server. Closing the socket does not: a statement that sends nothing does not notice, and runs on. The whole connection is
// killed, not just its statement, because our side of it is gone. An account may kill its own connections without further rights.
func (s *Server) kill(ctx context.Context, id uint64, node string) {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	c, err := s.conn.dial(ctx)
	if err == nil {
		defer c.Close()
		var where [][]string
		where, err = c.rows(ctx, "SELECT CONCAT_WS('/', @@hostname, @@port, @@server_id)")
		if err == nil && (len(where) != 1 || where[0][0] != node) {
			// Behind one name there are several servers: there the id may be somebody else's. The server's own time limit ends the statement.
			s.log.LogAttrs(ctx, slog.LevelWarn, "statement not killed: another server answered")
			return
		}
	}
	if err == nil {
		err = c.exec(ctx, "KILL "+strconv.FormatUint(id, 10))
	}
	if err != nil && !isNumber(err, 1094) { // 1094: it ended by itself
		s.log.LogAttrs(ctx, slog.LevelWarn, "statement not killed", slog.String("code", string(codeOf(err))))
	}
}
