-- For wrk: an action of one screen after the other. Arguments: the action's body, and a file with a line a screen: where it
-- is, and its owner's token. Ends with the line that wrk.lua ends with, which see.
local requests, turn = {}, 0

function init(arguments)
  local body = arguments[1]
  for line in io.lines(arguments[2]) do
    local href, token = line:match("(%S+) (%S+)")
    requests[#requests + 1] = "POST " .. href .. "/actions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " .. token
      .. "\r\nContent-Type: application/json\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
