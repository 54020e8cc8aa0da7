-- CLOSE. ARGV: 1 run, 2 call, 3 nonce, 4 target, 5 code ('' for READY), 6 evidence, 7 raw length, 8 observation length, 9 raw: 'i' inline, 'k' beside, '' none,
-- 10 inline raw or the length stored beside, 11 tag of the raw beside, 12 observation, 13 truncated, 14 scope id, 15 scope, 16 control, 17 bucket divisor,
-- 18 bound of what a run remembers, 19 grace, then item key, detail, key, detail ...
local name, ready = ARGV[2], ARGV[5] == ''
local rec, beside = P .. 'i:' .. ARGV[1] .. ':' .. name, P .. 'w:' .. ARGV[1] .. ':' .. name
-- refuse drops a raw that this CLOSE has brought, unless it is to be kept.
local function refuse(why, keep)
  if ARGV[9] == 'k' and not keep and call('GETRANGE', beside, 0, 15) == ARGV[11] then call('UNLINK', beside) end
  return {why}
end
local v = call('HMGET', rec, 's', 'n', 'g', 'a', 'x', 'f', 'y', 'ql', 'w')
if not v[1] then return refuse('gone') end
if v[2] ~= ARGV[3] then return refuse('mine') end
if v[1] ~= 'P' then
  local keep = v[1] == 'R' and v[9] == 'k' -- the raw beside is the record's own
  if v[6] == ARGV[4] then
    refuse('', keep)
    return cmsgpack.unpack(v[7])
  end
  return refuse('final', keep)
end
local r = loadrun(ARGV[1], v[3])
if not r then return refuse('gone') end
local o = call('HGET', r.k .. '|c', 'o:' .. name)
if not o then return refuse('gone') end
local rawlen, obslen = tonumber(ARGV[7]), tonumber(ARGV[8])
local pays = ready and r.lr - r.ur >= rawlen and r.lo - r.uo >= obslen
if pays and ARGV[9] == 'k' and (call('STRLEN', beside) ~= tonumber(ARGV[10]) or call('GETRANGE', beside, 0, 15) ~= ARGV[11]) then return refuse('raw') end

-- Every check is done: from here on only writes.
local facts, bound = r.k .. '|f', tonumber(ARGV[18])
local function get(m) return call('HGET', facts, m) end
local known -- how many facts there are, counted when the first one is added
local function remember(m, value)
  if not known then
    known = call('HLEN', facts)
    if known == 0 then
      call('HSET', facts, m, value)
      call('PEXPIREAT', facts, I(r.x + tonumber(ARGV[19])))
      known = 1
      return
    end
  end
  if known < bound then known = known + call('HSET', facts, m, value) end
end
local scope = ARGV[14]
local duplicate = scope ~= '' and get('s:' .. scope) or ''
local state, code, gain = 'E', ARGV[5], 'NONE'
if ready and not pays then code = 'BUDGET_EXHAUSTED' end

local function gained()
  if ARGV[6] == 'NO_EVIDENCE' then
    if scope == '' then return 'NEUTRAL' end
    if get('n:' .. scope) then return 'NO_GAIN' end
    remember('n:' .. scope, '')
    return 'NEUTRAL'
  end
  local counted, any = {}, false
  for i = 20, #ARGV, 2 do
    local key, detail = ARGV[i], ARGV[i + 1]
    local times, member = get('i:' .. key), 'd:' .. key .. ':' .. detail
    if not times and not counted[key] then
      counted[key], any = true, true
      remember('i:' .. key, '0')
      if detail ~= '' then remember(member, '') end
    elseif detail ~= '' and not get(member) then
      local again = counted[key]
      if not again then
        local t = tonumber(times or '0')
        if t < 3 then
          again, any = true, true
          counted[key] = true
          if times then call('HSET', facts, 'i:' .. key, I(t + 1)) end
        end
      end
      if again then remember(member, '') end
    end
  end
  return any and 'GAIN' or 'NO_GAIN'
end

local change = {'s', 'E', 'e', 'ERROR', 'c', code, 'z', I(now), 'f', ARGV[4]}
if pays then
  state, code = 'R', ''
  r.ur = r.ur + rawlen
  r.uo = r.uo + obslen
  gain = gained()
  local window = {}
  for token in string.gmatch(r.w, '[GNU][^ ]+ ') do window[#window + 1] = token end
  window[#window + 1] = ({GAIN = 'G', NO_GAIN = 'N', NEUTRAL = 'U'})[gain] .. name .. ' '
  while #window > r.nw do table.remove(window, 1) end
  r.w = table.concat(window)
  local pack
  if scope ~= '' then
    if duplicate == '' then remember('s:' .. scope, name) end
    local s, was = {scope, ARGV[15]}, scopes(r)
    for i = 1, #was, 2 do
      if was[i] ~= scope and #s < 16 then
        s[#s + 1] = was[i]
        s[#s + 1] = was[i + 1]
      end
    end
    pack = cmsgpack.pack(s)
  end
  if pack then
    call('HSET', r.k, 'ur', I(r.ur), 'uo', I(r.uo), 'w', r.w, 's', pack)
  else
    call('HSET', r.k, 'ur', I(r.ur), 'uo', I(r.uo), 'w', r.w)
  end
  change = {'s', 'R', 'e', ARGV[6], 'o', ARGV[12], 'u', ARGV[13], 'w', ARGV[9], 'z', I(now), 'f', ARGV[4]}
  if ARGV[9] == 'k' then
    call('PEXPIREAT', beside, v[5])
  else
    change[15], change[16] = 'r', ARGV[10]
  end
  local started, expires = tonumber(v[4]), tonumber(v[5])
  local width = math.max(1, math.floor((expires - started) / tonumber(ARGV[17])))
  local bucket = math.floor((expires + width - 1) / width) * width
  local weight = rawlen + obslen + tonumber(v[8])
  call('HINCRBY', P .. 'b', 't', I(weight))
  if call('HINCRBY', P .. 'b', I(bucket), I(weight)) == weight then
    -- A new bucket: the time to drop the past ones and to make the total exact again.
    local sum, past = livebytes()
    call('HSET', P .. 'b', 't', I(sum))
    for _, f in ipairs(past) do call('HDEL', P .. 'b', f) end
    extend(P .. 'b', bucket)
  end
else
  call('UNLINK', beside)
end
local n = streak(r)
local stop = stopped(r, n) and '1' or '0'
local out = {'OK', state, code, I(now), v[5], gain, I(n), I(r.nl), I(r.nw), duplicate, stop, I(r.lc - r.uc), I(r.lq - r.uq), I(r.lr - r.ur), I(r.lo - r.uo)}
local last = #change
change[last + 1], change[last + 2] = 'y', cmsgpack.pack(out)
call('HSET', rec, unpack(change))
call('HSET', r.k .. '|c', 'g:' .. name, cmsgpack.pack({state, state == 'R' and ARGV[6] or 'ERROR', code, scope, ARGV[15], duplicate, gain, '0', I(n), stop, ARGV[16], I(now)}))
return out
