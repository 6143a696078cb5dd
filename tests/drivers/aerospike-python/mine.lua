function one(rec) return 1 end
