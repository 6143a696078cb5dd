def generate(seed): return []
