package server

import (
	"encoding/binary"
	"errors"
	"net"
	"syscall"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

const (
	// ownPacket bounds one packet of what the gateway itself asks for (handshake, variables, grants, catalogue): the longest grant line of a server is far below.
	ownPacket = 1 << 20
	// rowSlack is what a row packet may hold beside the bytes of its cells: 4096 columns, the server's maximum, with a 9-byte length each, rounded up.
	rowSlack = 64 << 10
	// maxPart is the longest packet of the protocol; a longer message continues in the next.
	maxPart = 1<<24 - 1
)

var errOversize = errors.New("packet over the allowance")

// wire is a connection that follows the packet framing of the protocol. It refuses a packet at its header, before the driver sizes a buffer from it: a huge cell
// costs nothing. It also keeps the head of the last packet, in which the server counts the warnings of a statement. Below TLS it sees only ciphertext: then it
// counts bytes. One statement runs at a time, so the state needs no lock; only Close may come from elsewhere.
type wire struct {
	net.Conn
	opaque bool // TLS above

	permit *boundary.Permit // of the statement under way
	over   bool

	head    [4]byte
	headLen int
	body    int      // bytes left of the packet
	whole   int64    // bytes of the message so far, over all its packets
	joined  bool     // the next packet continues this message
	tail    [24]byte // first bytes of the last message
	tailLen int
	seen    int64 // opaque: bytes since arm
}

// arm meters what follows by p; nil goes back to the bound of the gateway's own questions.
func (w *wire) arm(p *boundary.Permit) { w.permit, w.seen = p, 0 }

// abort gives the connection up: what the server still sends is not read.
func (w *wire) abort() {
	w.over = true
	_ = w.Conn.Close()
}

func (w *wire) allowed() int64 {
	if w.permit == nil {
		return ownPacket
	}
	return w.permit.Left() + rowSlack
}

// Read reads from the connection. After an oversize packet it fails for good.
func (w *wire) Read(b []byte) (int, error) {
	if w.over {
		return 0, errOversize
	}
	n, err := w.Conn.Read(b)
	if n > 0 && !w.follow(b[:n]) {
		w.over = true
		if w.permit != nil {
			// The permit learns of it: whatever becomes of this error on its way, the call is refused.
			_ = w.permit.Take(int(min(max(w.whole, w.seen), 1<<31-1)))
		}
		return 0, errOversize
	}
	return n, err
}

// follow advances over b and tells whether everything is within the allowance.
func (w *wire) follow(b []byte) bool {
	if w.opaque {
		if w.permit != nil {
			w.seen += int64(len(b))
			// TLS adds some 30 bytes to each record of up to 16 KiB; the rows themselves are counted exactly as they are kept.
			return w.seen <= 2*w.permit.Left()+ownPacket
		}
		return true
	}
	for len(b) > 0 {
		if w.body > 0 {
			n := min(w.body, len(b))
			if w.tailLen < len(w.tail) {
				w.tailLen += copy(w.tail[w.tailLen:], b[:n])
			}
			w.body -= n
			b = b[n:]
			continue
		}
		n := copy(w.head[w.headLen:], b)
		w.headLen += n
		b = b[n:]
		if w.headLen < len(w.head) {
			return true
		}
		w.headLen = 0
		w.body = int(w.head[0]) | int(w.head[1])<<8 | int(w.head[2])<<16
		if !w.joined {
			w.tailLen, w.whole = 0, 0
		}
		w.whole += int64(w.body)
		w.joined = w.body == maxPart
		if w.whole > w.allowed() {
			return false
		}
	}
	return true
}

// warnings is the count in the packet that ended the last result; known is false when that packet could not be seen.
func (w *wire) warnings() (n int, known bool) {
	t := w.tail[:w.tailLen]
	if w.opaque || len(t) < 5 || t[0] != 0xfe {
		return 0, false
	}
	if w.whole == 5 { // EOF packet: warnings, status
		return int(binary.LittleEndian.Uint16(t[1:])), true
	}
	// OK packet with the header of EOF: affected rows, insert id, status, warnings
	t = t[1:]
	for range 2 {
		size := lengthSize(t)
		if size > len(t) {
			return 0, false
		}
		t = t[size:]
	}
	if len(t) < 4 {
		return 0, false
	}
	return int(binary.LittleEndian.Uint16(t[2:])), true
}

// lengthSize is the size of the length-encoded integer at the start of t.
func lengthSize(t []byte) int {
	if len(t) == 0 {
		return 1
	}
	switch t[0] {
	case 0xfc:
		return 3
	case 0xfd:
		return 4
	case 0xfe:
		return 9
	}
	return 1
}

// SyscallConn lets the driver ask whether an idle connection is still alive.
func (w *wire) SyscallConn() (syscall.RawConn, error) {
	sc, ok := w.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return sc.SyscallConn()
}
