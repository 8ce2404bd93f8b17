-- What wrk does for servers.py: as many requests at once as the argument says, and the figures as JSON.

local together

function init(args)
    local requests = {}
    for i = 1, tonumber(args[1]) or 1 do
        requests[i] = wrk.format()
    end
    together = table.concat(requests)
end

function request()
    return together
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests": %d, "seconds": %.6f, "errors": %d, "p50": %.3f, "p90": %.3f, "p99": %.3f, "p99.9": %.3f, "max": %.3f}\n',
        summary.requests, summary.duration / 1e6,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9), latency.max))
end
