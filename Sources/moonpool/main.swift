print("moonpool")
