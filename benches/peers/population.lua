-- Each request comes from another client: the heads of the file in turn, each with a number that no
-- other request of the run has. Called with the file, heads ended by NUL, and the name of the run.
local heads, count, last, number = {}, 0, 0, 0

function init(args)
    local file = assert(io.open(args[1], "rb"))
    for head in file:read("*a"):gmatch("(.-)%z") do
        count = count + 1
        heads[count] = head .. "X-Correlation-Id: " .. args[2] .. "-"
    end
    file:close()
end

function request()
    last = last % count + 1
    number = number + 1
    return heads[last] .. number .. "\r\n\r\n"
end

function done(summary)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    print(string.format("result %d %d %d %d", summary.requests, summary.duration, summary.bytes, failed))
end
