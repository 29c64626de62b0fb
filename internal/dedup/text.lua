-- text is the key as one text, by which is seen later whether anything has changed.
local function text()
  local words = {}
  for i = 1, 7 do
    words[i] = kept[i] or '-'
  end
  return table.concat(words, ' ')
end

-- running says whether another claim's lease still runs. An end later than any claim made now could have is of a
-- time before the clock went back, and counts as over.
local function running(now, lease)
  return s == PROCESSING and l > now and l <= now + lease
end

