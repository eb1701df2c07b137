-- For wrk. Argument: how many requests to send at once (1: no pipelining). At the end it prints one
-- result line: RESULT, the number of requests, the duration, p50 and p99 in µs, and how many
-- requests failed.
function init(arguments)
  local depth = tonumber(arguments[1]) or 1
  if depth > 1 then
    local batch = string.rep(wrk.format(), depth)
    request = function() return batch end
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
