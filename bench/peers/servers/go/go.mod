module thrum/bench/peers/servers/go

go 1.19
