// Servers in Go: net/http, an echo, the same while tasks compute, and deadlines.
//
//	peer-server-go http|echo|deadlines PORT
//	peer-server-go busy PORT WORKERS
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "Hello, world!\n")
}

func echo(c net.Conn) {
	defer c.Close()
	text := make([]byte, 4096)
	for {
		n, err := c.Read(text)
		if err != nil {
			return
		}
		if _, err = c.Write(text[:n]); err != nil {
			return
		}
	}
}

// Computes for 5 ms at a time, and gives way in between.
func compute() {
	for {
		for begin := time.Now(); time.Since(begin) < 5*time.Millisecond; {
		}
		runtime.Gosched()
	}
}

// How late the last wait ended of all that had the same deadline, and how many are left.
var waits, late atomic.Int64

// Closed when all have ended: until then no connection is closed.
var over = make(chan struct{})

// Waits for bytes that do not come, until the instant that the other side has sent.
func silent(c net.Conn) {
	defer c.Close()
	var text [8]byte
	if _, err := io.ReadFull(c, text[:]); err != nil {
		return
	}
	deadline := time.Unix(0, int64(binary.LittleEndian.Uint64(text[:])))
	waits.Add(1)
	_ = c.SetReadDeadline(deadline)
	if _, err := c.Read(text[:]); !os.IsTimeout(err) {
		fmt.Fprintln(os.Stderr, "the wait ended otherwise:", err)
		os.Exit(1)
	}
	mine := int64(time.Since(deadline))
	for seen := late.Load(); mine > seen && !late.CompareAndSwap(seen, mine); seen = late.Load() {
	}
	if waits.Add(-1) == 0 {
		fmt.Printf("{\"last_ms\": %.3f}\n", float64(late.Load())/1e6)
		close(over)
	}
	<-over
}

func serve(listener net.Listener, connection func(net.Conn)) error {
	for {
		c, err := listener.Accept()
		if err != nil {
			return err
		}
		go connection(c)
	}
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: peer-server-go http|echo|deadlines|busy PORT [WORKERS]")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[2])
	if err == nil {
		switch os.Args[1] {
		case "http":
			err = http.Serve(listener, http.HandlerFunc(hello))
		case "echo":
			err = serve(listener, echo)
		case "deadlines":
			err = serve(listener, silent)
		case "busy":
			workers, _ := strconv.Atoi(os.Args[3])
			runtime.GOMAXPROCS(workers)
			for i := 0; i < workers/2; i++ {
				go compute()
			}
			err = serve(listener, echo)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
