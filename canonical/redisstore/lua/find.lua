-- FindCall. ARGV: 1 call. Gives the run and the record's fields in the order of the driver's list, then the raw beside it.
local run = redis.call('GET', KEYS[1] .. 'm:' .. ARGV[1])
if not run then return false end
local v = redis.call('HMGET', KEYS[1] .. 'i:' .. run .. ':' .. ARGV[1], unpack(ARGV, 2))
v[#v + 1] = redis.call('GET', KEYS[1] .. 'w:' .. run .. ':' .. ARGV[1])
return {run, v}
