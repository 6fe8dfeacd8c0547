import SystemCalls

// The program `moonpool-studio`, which `moonpool studio` starts with checked arguments of the form --name=value.

#if Studio
    import EventLoops
    import LuaHost
    import Studio
    import Synchronization

    @main
    enum Main {
        private static let server = Mutex<StudioServer?>(nil)

        static func main() {
            ProcessServices.openStandardStreams()
            ProcessServices.ignorePipeSignal()
            ProcessServices.ignoreFileSizeSignal()
            ProcessServices.onTermination { _ in
                server.withLock { $0 }?.end()
                ProcessServices.exit(0)
            }
            var options: [String: String] = [:]
            for word in ProgramArguments.words.dropFirst() {
                let parts = word.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                options[String(parts[0].dropFirst(2))] = parts.count > 1 ? String(parts[1]) : "true"
            }
            do throws(StudioFailure) {
                let port = options.removeValue(forKey: "port").map { UInt16($0) } ?? 0
                guard let port else {
                    ProcessServices.writeError("moonpool-studio: start it with 'moonpool studio'\n")
                    ProcessServices.exit(64)
                }
                let opensBrowser = options.removeValue(forKey: "no-browser") == nil
                let studio = try StudioServer(port: port, options: options)
                server.withLock { $0 = studio }
                studio.exitWithScript()
                try studio.serve()
                ProcessServices.writeOutput(studio.address + "\n")
                ProcessServices.flushOutput()
                if opensBrowser { studio.openBrowser() }
            } catch {
                ProcessServices.writeError("moonpool: \(error.message)\n")
                ProcessServices.exit(1)
            }
            // The thread that receives signals ends the process.
            while true { _ = ThreadLatch().wait(atMost: .seconds(3600)) }
        }
    }
#else
    @main
    enum Main {
        static func main() {
            ProcessServices.writeError(
                "moonpool: this program was built without the studio; build it with the trait 'Studio' of the package "
                    + "moonpool\n")
            ProcessServices.exit(1)
        }
    }
#endif
