extension HelpCatalog {
    /// The functions for workers, messages and thread-safe references.
    static let workers: [HelpEntry] = [
        .function(
            "worker", of: moonpool,
            ["(name: string, body: fun(...)|string, ...: any): Worker"],
            "Starts a worker that runs a function or a file on a thread with its own event loop and Lua state.",
            errors: [.invalidArgument, .limitExceeded],
            example: """
                local w = moonpool.worker("adder", function(a, b) moonpool.post_to_parent(a + b) end, 1, 2)
                local sum
                w:on_message(function(value) sum = value end)
                moonpool.wait_until(function() return sum end, 10)
                print(sum)  --> 3
                w:stop()
                """),
        .function(
            "on_message", of: moonpool, ["(body?: fun(...))"],
            "Sets the function that receives messages: from the parent in a worker, from all workers elsewhere.",
            errors: [.invalidArgument],
            example: """
                local w = moonpool.worker("echo", function()
                  moonpool.on_message(function(text) moonpool.post_to_parent(text .. "!") end)
                end)
                local answer
                moonpool.on_message(function(text) answer = text end)
                w:post("hello")
                moonpool.wait_until(function() return answer end, 10)
                print(answer)  --> hello!
                w:stop()
                """),
        .function(
            "post_to_parent", of: moonpool, ["(...: any): boolean"],
            "Sends values to the parent of this worker. Returns false if the parent has ended.",
            errors: [.invalidArgument],
            example: """
                local w = moonpool.worker("child", function() moonpool.post_to_parent("born") end)
                local word
                w:on_message(function(text) word = text end)
                moonpool.wait_until(function() return word end, 10)
                print(word)  --> born
                w:stop()
                """),
        .function(
            "reference", of: moonpool, ["(value: Object|Results|List|Set|Map|Store): Reference"],
            "Creates a thread-safe reference. A store on another thread resolves it, once.",
            errors: [.invalidArgument, .invalidObject],
            example: """
                local reference = moonpool.reference(rex)
                print(store:resolve(reference).name, reference.is_resolved)  --> Rex true
                """),
        .method(
            "resolve", of: [store], ["(reference: Reference): any"],
            "Resolves a thread-safe reference on this thread. Returns nil if the object was deleted.",
            errors: [.invalidArgument, .closed],
            example: """
                print(store:resolve(moonpool.reference(dogs:where "age > 5"))[1].name)  --> Rex
                """),
        .field(
            "is_resolved", of: [reference], "boolean",
            "Whether the reference has been resolved, on any thread."),
        .method(
            "post", of: [worker], ["(...: any): boolean"],
            "Sends values to the on_message function of the worker. Returns false if the worker has ended.",
            errors: [.invalidArgument],
            example: """
                local w = moonpool.worker("counter", function()
                  moonpool.on_message(function(dog) moonpool.post_to_parent(dog.age) end)
                end)
                local age
                w:on_message(function(value) age = value end)
                w:post(rex)
                moonpool.wait_until(function() return age end, 10)
                print(age)  --> 7
                w:stop()
                """),
        .method(
            "on_message", of: [worker], ["(body?: fun(...))"],
            "Sets the function that receives the messages of this worker.",
            errors: [.invalidArgument],
            example: """
                local w = moonpool.worker("child", function() moonpool.post_to_parent(1, "a") end)
                local got
                w:on_message(function(number, text) got = number .. text end)
                moonpool.wait_until(function() return got end, 10)
                print(got)  --> 1a
                w:stop()
                """),
        .method(
            "stop", of: [worker], ["(seconds?: number)"],
            "Stops the worker after it has handled its posted messages. Interrupts it after a timeout in seconds.",
            errors: [.invalidArgument],
            example: """
                local w = moonpool.worker("idle", function() moonpool.on_message(function() end) end)
                w:stop()
                print(w:join(10), w:is_running())  --> true false
                """),
        .method(
            "join", of: [worker], ["(seconds?: number): boolean, string?"],
            "Waits until the worker has ended. Returns true, or false and the error. Observers run in the meantime.",
            errors: [.invalidArgument],
            example: """
                local w = moonpool.worker("quick", function() end)
                print(w:join(10))  --> true
                """),
        .method(
            "is_running", of: [worker], ["(): boolean"],
            "Returns whether the worker is still running.",
            example: """
                local w = moonpool.worker("quick", function() end)
                w:join(10)
                print(w:is_running())  --> false
                """),
        .field("name", of: [worker], "string", "The name of the worker thread: name-uuid."),
    ]
}
