-- What wrk does for servers.py: as many requests at once as the argument says, and the counts as JSON. Its latencies
-- are not told: it adds to them what it takes for hidden waits, which is wrong for requests that are sent together.

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

function done(summary)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests": %d, "seconds": %.6f, "errors": %d}\n',
        summary.requests, summary.duration / 1e6,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
