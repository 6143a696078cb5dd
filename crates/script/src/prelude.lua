-- Made once for each state: the libraries as functions of users see them. `charge` takes instructions off the budget of the call.
local charge, patterns = ...
local string, table, math = string, table, math
local error, select, type, tostring, rep, format = error, select, type, tostring, string.rep, string.format
local pack, unpack, sort, concat = table.pack, table.unpack, table.sort, table.concat

-- What works on whole strings costs by their length.
local function charged(work)
  return function(text, ...)
    charge(#tostring(text) // 16)
    return work(text, ...)
  end
end

local function without_address(value)
  local kind = type(value)
  if kind == "table" or kind == "function" then return kind end
  return tostring(value)
end

local strings = {
  byte = string.byte, char = string.char, len = string.len,
  lower = charged(string.lower), reverse = charged(string.reverse), sub = string.sub, upper = charged(string.upper),
  rep = function(text, times, separator)
    text, separator = tostring(text), separator or ""
    times = math.tointeger(math.min(times, 1 << 40))
    if times > 0 then charge(times * (#text + #separator) // 16 + times // 4) end
    return rep(text, times, separator)
  end,
  find = patterns.find, match = patterns.match, gmatch = patterns.gmatch, gsub = patterns.gsub,
  format = function(pattern, ...)
    if patterns.find(pattern, "%p", 1, true) then error("string.format has no %p here", 2) end
    local arguments = pack(...)
    for position = 1, arguments.n do
      local kind = type(arguments[position])
      if kind == "table" or kind == "function" then arguments[position] = kind end
    end
    return format(pattern, unpack(arguments, 1, arguments.n))
  end,
}

-- In Lua, so that each element counts.
local tables = {
  concat = concat, pack = pack, unpack = unpack,
  insert = function(list, ...)
    local given, size = select("#", ...), #list
    if given == 1 then
      list[size + 1] = (...)
    elseif given == 2 then
      local at, value = ...
      if at < 1 or at > size + 1 then error("bad argument #2 to 'insert' (position out of bounds)", 2) end
      for position = size, at, -1 do list[position + 1] = list[position] end
      list[at] = value
    else
      error("wrong number of arguments to 'insert'", 2)
    end
  end,
  remove = function(list, at)
    local size = #list
    at = at or size
    local value = list[at]
    if size > 0 and at >= 1 and at <= size then
      for position = at, size - 1 do list[position] = list[position + 1] end
      list[size] = nil
    end
    return value
  end,
  move = function(from, first, last, to, into)
    into = into or from
    if to > first and into == from then
      for position = last, first, -1 do into[to + position - first] = from[position] end
    else
      for position = first, last do into[to + position - first] = from[position] end
    end
    return into
  end,
  sort = function(list, before)
    return sort(list, before or function(one, two) return one < two end)
  end,
}

local numbers = {}
for name, value in pairs(math) do numbers[name] = value end
numbers.random, numbers.randomseed = nil, nil

local function fixed(library)
  return setmetatable({}, { __index = library, __newindex = function() error("the libraries cannot be changed", 2) end })
end

-- The string metatable: methods of the library above, and no arithmetic on texts.
local of_strings = getmetatable("")
for name in pairs(of_strings) do of_strings[name] = nil end
of_strings.__index = strings

local globals = {
  _VERSION = _VERSION, assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, rawequal = rawequal, rawlen = rawlen,
  select = select, tonumber = tonumber, tostring = without_address, type = type,
  math = fixed(numbers), string = fixed(strings), table = fixed(tables),
}
return { __index = globals }
