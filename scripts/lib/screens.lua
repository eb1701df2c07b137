-- For wrk: sends an action to each screen in turn. Arguments: the action's body, and a file whose
-- lines hold a screen's path and its user's token. Prints the same result line as wrk.lua.
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
