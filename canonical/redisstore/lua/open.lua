-- OPEN. ARGV: 1 run, 2 slot, 3 run to mint, 4 call, 5 minted, 6 nonce, 7 tool, 8 request, 9 request length, 10 projector, 11 ttl, 12 request bytes to charge,
-- 13 may open a run, 14 the run id has the minted form, 15 salt, 16..23 the run to open (see newrun), 24 ceiling open runs, 25 calls a minute, 26 live bytes, 27 grace.
local id, r, old = ARGV[1], nil, nil
if ARGV[2] ~= '' then
  local current = call('GET', P .. 's:' .. ARGV[2])
  if current then
    r = loadrun(current)
    if r and not active(r) then r = nil end
  end
  if not r then
    id = ARGV[3]
    if id == '' or loadrun(id) then return {'RUN_NOT_ACTIVE'} end
  end
else
  old = loadrun(id)
  if old then
    if active(old) then
      r = old
    elseif now < old.x or old.m == 'registered' then
      return {'RUN_NOT_ACTIVE'}
    end
  end
  if not r and ARGV[14] == '1' then return {'RUN_NOT_ACTIVE'} end
end
local fresh = not r
if fresh then
  if ARGV[13] ~= '1' then return {'RUN_NOT_ACTIVE'} end
  if full(tonumber(ARGV[24])) then return {'BUDGET_EXHAUSTED'} end
  r = newrun(id, 'implicit', ARGV[15], 16, old)
end
if r.t and not string.find(r.t, '\n' .. ARGV[7] .. '\n', 1, true) then return {'TOOL_NOT_AUTHORIZED'} end
local name = ARGV[4]
if not fresh then
  local o = call('HGET', r.k .. '|c', 'o:' .. name)
  if o then
    local used = cmsgpack.unpack(o)
    if used[1] == ARGV[6] then return used[4] end
    return {'DUPLICATE_TOOL_CALL_ID'}
  end
end
local rec = P .. 'i:' .. r.id .. ':' .. name
if call('EXISTS', rec) == 1 or ARGV[5] == '1' and call('EXISTS', P .. 'm:' .. name) == 1 then return {'DUPLICATE_TOOL_CALL_ID'} end
local n = streak(r)
local stop = stopped(r, n)
local expires = now + math.max(1, tonumber(ARGV[11]))
local function grant(status)
  local out = {status, r.id, r.salt, I(now), I(expires), I(r.lc - r.uc), I(r.lq - r.uq), I(r.lr - r.ur), I(r.lo - r.uo), I(r.nl), I(r.nw), I(n), r.m, (stop and r.m == 'implicit') and '1' or '0'}
  if stop then
    local s = scopes(r)
    for i = 2, #s, 2 do out[#out + 1] = s[i] end
  end
  return out
end
if stop and r.m == 'registered' then return grant('STOP_REQUIRED') end
local minute = P .. 'q:' .. I(math.floor(now / 60000))
local rate, live = tonumber(ARGV[25]), tonumber(ARGV[26])
if rate > 0 and tonumber(call('GET', minute) or '0') >= rate then return {'OVERLOADED'} end
if live > 0 and tonumber(call('HGET', P .. 'b', 't') or '0') >= live and livebytes() >= live then return {'BUDGET_EXHAUSTED'} end
local cost = tonumber(ARGV[12])
if r.lc - r.uc < 1 or r.lq - r.uq < cost or r.lr - r.ur <= 0 or r.lo - r.uo <= 0 then return {'BUDGET_EXHAUSTED'} end

-- Every check is done: from here on only writes.
r.uc = r.uc + 1
r.uq = r.uq + cost
local out = grant('OK')
if fresh then
  storerun(r, old, tonumber(ARGV[27]))
  if ARGV[2] ~= '' then call('SET', P .. 's:' .. ARGV[2], r.id, 'PXAT', I(r.x)) end
else
  call('HSET', r.k, 'uc', I(r.uc), 'uq', I(r.uq))
end
call('HSET', r.k .. '|c', 'o:' .. name, cmsgpack.pack({ARGV[6], ARGV[7], I(now), out}))
-- Who has just made one of them, on the first call or after an eviction, gives it its end.
local listed, keep = call('RPUSH', r.k .. '|l', name), I(r.x + tonumber(ARGV[27]))
if listed == 1 then call('PEXPIREAT', r.k .. '|l', keep) end
if listed == 1 or call('HLEN', r.k .. '|c') == 1 then call('PEXPIREAT', r.k .. '|c', keep) end
call('HSET', rec, 's', 'P', 'n', ARGV[6], 'g', r.g, 't', ARGV[7], 'q', ARGV[8], 'ql', ARGV[9], 'p', ARGV[10], 'k', r.salt, 'a', I(now), 'x', I(expires))
call('PEXPIREAT', rec, I(expires))
if ARGV[5] == '1' then call('SET', P .. 'm:' .. name, r.id, 'PXAT', I(expires)) end
if call('INCR', minute) == 1 then call('PEXPIRE', minute, 120000) end
return out
