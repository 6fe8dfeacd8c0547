Dog {id = 1, name = "Rex", age = 7}
Dog {id = 2, name = [[Max]], notes = {a = 1.5, ["b c"] = -0x10}}
