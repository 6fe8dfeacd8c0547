-- rows
return { { a = 1 }, { a = -0.0, [2] = 3 }, {} }
