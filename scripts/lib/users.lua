-- For wrk: sends requests of many users in turns. Arguments: the kind of request, and a file with
-- one token per line.
--   get    GET /v1/defaults/standard
--   put    PUT /v1/defaults/standard/appearance, with a new value each time
--   etcd   the same through etcd's JSON gateway: POST /v3/kv/put, one key per user
--   kinto  GET of the record settings/standard from Kinto, with the token as the user's password
--   kinto-put  PUT of that record, with a new value each time
-- Prints the same result line as wrk.lua.
local users, turn, count = {}, 0, 0

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function base64(text)
  local output = {}
  for start = 1, #text, 3 do
    local a, b, c = text:byte(start, start + 2)
    local bits = a * 65536 + (b or 0) * 256 + (c or 0)
    for place = 0, 3 do
      local value = math.floor(bits / 64 ^ (3 - place)) % 64
      output[#output + 1] = (place == 2 and not b or place == 3 and not c) and "=" or alphabet:sub(value + 1, value + 1)
    end
  end
  return table.concat(output)
end

local function value()
  count = count + 1
  return string.format('{"theme":"dark","size":%d}', count)
end

local function with_body(head, body) return head .. #body .. "\r\n\r\n" .. body end

local kinds = {
  get = {
    prepare = function(token)
      return "GET /v1/defaults/standard HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " .. token .. "\r\n\r\n"
    end,
    make = function(prepared) return prepared end,
  },
  put = {
    prepare = function(token)
      return "PUT /v1/defaults/standard/appearance HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " .. token
        .. "\r\nContent-Type: application/json\r\nContent-Length: "
    end,
    make = function(prepared) return with_body(prepared, value()) end,
  },
  etcd = {
    prepare = function(token) return base64("defaults/" .. token:sub(1, 36) .. "/appearance") end,
    make = function(prepared)
      local body = '{"key":"' .. prepared .. '","value":"' .. base64(value()) .. '"}'
      return with_body("POST /v3/kv/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ", body)
    end,
  },
  kinto = {
    prepare = function(token)
      return "GET /v1/buckets/default/collections/settings/records/standard HTTP/1.1\r\nHost: localhost\r\n"
        .. "Authorization: Basic " .. base64("user:" .. token) .. "\r\n\r\n"
    end,
    make = function(prepared) return prepared end,
  },
  ["kinto-put"] = {
    prepare = function(token)
      return "PUT /v1/buckets/default/collections/settings/records/standard HTTP/1.1\r\nHost: localhost\r\n"
        .. "Authorization: Basic " .. base64("user:" .. token) .. "\r\n"
        .. "Content-Type: application/json\r\nContent-Length: "
    end,
    make = function(prepared) return with_body(prepared, '{"data":{"appearance":' .. value() .. "}}") end,
  },
}
local kind

function init(arguments)
  kind = kinds[arguments[1]]
  for token in io.lines(arguments[2]) do users[#users + 1] = kind.prepare(token) end
end

function request()
  turn = turn % #users + 1
  return kind.make(users[turn])
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
