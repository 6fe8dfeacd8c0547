extension HelpCatalog {
    /// The methods for write transactions and refreshing.
    static let transactions: [HelpEntry] = [
        .method(
            "write", of: [store], ["(body: fun(): ..., options?: WriteOptions): ..."],
            "Runs a function in a write transaction. Commits when the function returns; rolls back on an error.",
            errors: [
                .alreadyInWrite, .timedOut, .readOnly, .frozen, .diskFull, .tooManyVersions,
                .closed,
            ],
            example: """
                local cleo = store:write(function()
                  return store:create("Dog", { id = 3, name = "Cleo" })
                end)
                print(cleo.name, #dogs)  --> Cleo 3
                print(pcall(store.write, store, function() cleo.name = "X" error("no", 0) end))  --> false no
                print(cleo.name)  --> Cleo
                """),
        .method(
            "savepoint", of: [store], ["(body: fun(): ...): ..."],
            "Runs a function inside the open write. Rolls back only its changes on an error, which is raised again.",
            errors: [.notInWrite, .readOnly, .frozen, .closed],
            example: """
                store:write(function()
                  rex.age = 8
                  print(pcall(store.savepoint, store, function() rex.age = 9 error("no", 0) end))  --> false no
                end)
                print(rex.age)  --> 8
                """),
        .method(
            "begin_write", of: [store], ["(options?: {timeout: number?})"],
            "Begins a write transaction. Waits for other writers, at most for a timeout in seconds.",
            errors: [.alreadyInWrite, .timedOut, .readOnly, .frozen, .closed],
            example: """
                store:begin_write()
                rex.age = 8
                store:commit_write()
                print(rex.age)  --> 8
                """),
        .method(
            "commit_write", of: [store], ["(options?: WriteOptions)"],
            "Commits the open write transaction.",
            errors: [.notInWrite, .diskFull, .tooManyVersions, .closed],
            example: """
                store:begin_write()
                rex.age = 8
                store:commit_write()
                print(store.is_in_write)  --> false
                """),
        .method(
            "cancel_write", of: [store], ["()"], "Rolls back the open write transaction.",
            errors: [.notInWrite, .closed],
            example: """
                store:begin_write()
                rex.age = 8
                store:cancel_write()
                print(rex.age)  --> 7
                """),
        .method(
            "write_async", of: [store], ["(body: fun(), failed?: fun(err: any))"],
            "Queues a write transaction and returns immediately.", errors: [.closed],
            example: """
                store:write_async(function() rex.age = 8 end, function(err) print(err) end)
                moonpool.wait_until(function() return rex.age == 8 end, 10)
                print(rex.age)  --> 8
                """),
        .method(
            "refresh", of: [store], ["(): boolean"],
            "Advances to the latest version and notifies observers. Returns whether the version changed.",
            errors: [.closed],
            example: """
                local token <close> = dogs:observe(function(change) print(change.type) end)
                store:refresh()  --> initial
                """),
        .field(
            "without_notifying", of: [writeOptions], "Token[]",
            "The observers that are not notified of this write."),
        .field(
            "timeout", of: [writeOptions], "number?",
            "The longest wait for other writers in seconds; only for `store:write`."),
    ]
}
