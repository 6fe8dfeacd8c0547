try await Shop { print($0) }.open()
