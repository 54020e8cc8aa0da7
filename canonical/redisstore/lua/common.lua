-- What every step shares. KEYS[1] is the principal's prefix "mg:{hash}:"; every key below it has the same hash tag, so that one script may touch them all.
-- KEYS[2] is no key at all: see names in script.go.
--   r:<run>            hash, the newest generation of a run; r:<run>:<gen> an older one that calls in flight still need
--   <run key>|c |l |f  its calls (hash), their order (list), what it has seen (hash)
--   i:<run>:<call>     hash, one record        w:<run>:<call>  its raw when that travelled beside the script: 16 bytes that name the call's nonce, then the raw
--   m:<call>           the run of a minted call id       s:<slot>  the run of a slot
--   a d n              sorted sets: active runs by deadline, all runs by deadline, all runs by opening
--   b                  hash, live bytes by end of the expiry bucket, and t: their total, too high by what has expired since it was made
--   q:<minute>         calls granted in that minute
local P = KEYS[1]
local T = redis.call('TIME')
local now = T[1] * 1000 + math.floor(T[2] / 1000)
local call = redis.call

local function I(n) return string.format('%.0f', n) end

-- extend gives a key a deadline, or a later one: only keys that serve several records are ever extended.
local function extend(key, at)
  if call('PEXPIRETIME', key) < at then call('PEXPIREAT', key, I(at)) end
end

local function loadrun(id, gen)
  local k = P .. 'r:' .. id
  local v = call('HMGET', k, 'g', 'm', 'c', 'o', 'x', 'k', 'lc', 'lq', 'lr', 'lo', 'uc', 'uq', 'ur', 'uo', 'nl', 'nw', 't', 'w', 's')
  if gen and v[1] ~= gen then
    k = k .. ':' .. gen
    v = call('HMGET', k, 'g', 'm', 'c', 'o', 'x', 'k', 'lc', 'lq', 'lr', 'lo', 'uc', 'uq', 'ur', 'uo', 'nl', 'nw', 't', 'w', 's')
  end
  if not v[1] then return nil end
  return {id = id, k = k, g = v[1], m = v[2], closed = v[3], o = tonumber(v[4]), x = tonumber(v[5]), salt = v[6],
    lc = tonumber(v[7]), lq = tonumber(v[8]), lr = tonumber(v[9]), lo = tonumber(v[10]), uc = tonumber(v[11]), uq = tonumber(v[12]), ur = tonumber(v[13]), uo = tonumber(v[14]),
    nl = tonumber(v[15]), nw = tonumber(v[16]), t = v[17], w = v[18] or '', s = v[19]}
end

local function active(r) return not r.closed and now < r.x end

-- The window is a string of "<outcome><call> ": G gain, N no gain, U neutral.
local function streak(r)
  local n = 0
  for o in string.gmatch(r.w, '([GNU])[^ ]+ ') do if o == 'N' then n = n + 1 end end
  return n
end

local function stopped(r, n) return r.nl > 0 and n >= r.nl end

-- Scopes are packed as {id, text, id, text ...}, newest first.
local function scopes(r) return r.s and cmsgpack.unpack(r.s) or {} end

local function inforow(r)
  local n = streak(r)
  local out = {r.id, r.m, active(r) and '1' or '0', stopped(r, n) and '1' or '0', I(r.o), I(r.x), I(r.lc), I(r.lq), I(r.lr), I(r.lo), I(r.uc), I(r.uq), I(r.ur), I(r.uo), I(r.nl), I(r.nw), I(n), r.t or ''}
  local s = scopes(r)
  for i = 2, #s, 2 do out[#out + 1] = s[i] end
  return out
end

-- livebytes sums the buckets that end in the future, and names those that do not.
local function livebytes()
  local buckets, sum, past = call('HGETALL', P .. 'b'), 0, {}
  for i = 1, #buckets, 2 do
    local ends = tonumber(buckets[i])
    if ends and ends > now then
      sum = sum + tonumber(buckets[i + 1])
    elseif ends then
      past[#past + 1] = buckets[i]
    end
  end
  return sum, past
end

-- full tells whether a ceiling of open runs (0: none) is reached.
local function full(ceiling) return ceiling > 0 and call('ZCOUNT', P .. 'a', '(' .. I(now), '+inf') >= ceiling end

-- newrun describes a run opened now from ARGV[at...]: limits (4), no_gain limit and window, ttl, tools.
local function newrun(id, mode, salt, at, old)
  local gen = now
  if old and tonumber(old.g) >= gen then gen = tonumber(old.g) + 1 end
  local A = function(i) return tonumber(ARGV[at + i]) end
  local tools = ARGV[at + 7]
  return {id = id, k = P .. 'r:' .. id, g = I(gen), m = mode, o = now, x = now + A(6), salt = salt, lc = A(0), lq = A(1), lr = A(2), lo = A(3), uc = 0, uq = 0, ur = 0, uo = 0,
    nl = A(4), nw = A(5), t = tools ~= '' and tools or false, w = ''}
end

-- storerun writes a fresh run; the generation before it moves aside with the life it has.
local function storerun(r, old, grace)
  if old then
    for _, part in ipairs({'', '|c', '|l', '|f'}) do
      if call('EXISTS', old.k .. part) == 1 then call('RENAME', old.k .. part, old.k .. ':' .. old.g .. part) end
    end
  end
  call('HSET', r.k, 'g', r.g, 'm', r.m, 'o', I(r.o), 'x', I(r.x), 'k', r.salt, 'lc', I(r.lc), 'lq', I(r.lq), 'lr', I(r.lr), 'lo', I(r.lo),
    'uc', I(r.uc), 'uq', I(r.uq), 'ur', '0', 'uo', '0', 'nl', I(r.nl), 'nw', I(r.nw))
  if r.t then call('HSET', r.k, 't', r.t) end
  call('PEXPIREAT', r.k, I(r.x + grace))
  local dead = call('ZRANGEBYSCORE', P .. 'd', '-inf', I(now), 'LIMIT', 0, 64)
  for _, id in ipairs(dead) do
    call('ZREM', P .. 'd', id)
    call('ZREM', P .. 'n', id)
  end
  call('ZREMRANGEBYSCORE', P .. 'a', '-inf', I(now))
  call('ZADD', P .. 'a', I(r.x), r.id)
  call('ZADD', P .. 'd', I(r.x), r.id)
  call('ZADD', P .. 'n', I(r.o), r.id)
  for _, k in ipairs({'a', 'd', 'n'}) do extend(P .. k, r.x) end
end

-- unexpired is the run while its deadline has not passed.
local function unexpired(id)
  local r = loadrun(id)
  if r and now < r.x then return r end
  return nil
end
