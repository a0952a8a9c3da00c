class Amun: pass
