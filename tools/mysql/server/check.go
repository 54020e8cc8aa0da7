package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Check connects and verifies the session and the account. Its error says what to do next and holds no secret. What is allowed but unwise is a warning in the log.
func (s *Server) Check(ctx context.Context) error {
	if s.plain {
		s.log.LogAttrs(ctx, slog.LevelWarn, "datasource is reached over a network without TLS: add tls=true to its dsn")
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+s.o.Timeout)
	defer cancel()
	c, err := s.conn.open(ctx)
	if err != nil {
		return operatorError(err)
	}
	defer c.Close()
	host, err := c.rows(ctx, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', -1)")
	if err != nil {
		return operatorError(err)
	}
	if len(host) == 1 && host[0][0] == "%" {
		s.log.LogAttrs(ctx, slog.LevelWarn, "datasource account may log in from any host: restrict it to the host of the gateway")
	}
	return nil
}

// operatorError tells the operator, to whom the hints of a call send a model, what is wrong with a connection. It holds no address, user or text of the server.
func operatorError(err error) error {
	if ce, ok := errors.AsType[*checkError](err); ok {
		return ce
	}
	code, _, hint := fault.Public(classify("server.Check", err))
	if me, ok := errors.AsType[*driversql.MySQLError](err); ok {
		switch me.Number {
		case 1045, 1698:
			hint = "user or password of the dsn is wrong, or the account may not log in from this host"
		case 1044:
			hint = "the account may not use the database named in the dsn"
		case 1049:
			hint = "the database named in the dsn does not exist"
		case 1130:
			hint = "the server does not admit connections from this host"
		case 3159:
			hint = "the server demands TLS: add tls=true to the dsn"
		}
		return fmt.Errorf("server: %s (server error %d): %s", code, me.Number, hint)
	}
	_, dns := errors.AsType[*net.DNSError](err)
	_, cert := errors.AsType[*tls.CertificateVerificationError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	switch {
	case dns:
		hint = "the host name of the dsn is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = "nothing listens at the address of the dsn"
	case errors.Is(err, syscall.ENOENT):
		hint = "the socket of the dsn does not exist"
	case errors.Is(err, driversql.ErrNoTLS):
		hint = "the dsn demands TLS and the server offers none"
	case cert, name:
		hint = "the certificate of the server cannot be verified: name the host as the certificate does and trust its authority (SSL_CERT_FILE)"
	}
	return fmt.Errorf("server: %s: %s", code, hint)
}
