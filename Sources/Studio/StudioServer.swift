import EventLoops
import Synchronization
import SystemCalls

// The studio's server: HTTP and WebSocket on 127.0.0.1.
//
// Threads: one thread waits for connections, and each connection has a thread that reads. Messages of pages run on the
// script's thread, in order.
//
// Checks of a request, in this order: Host (another site whose name leads to 127.0.0.1), Origin (a page of another
// site), session. A connection answers one request, or becomes a WebSocket.

/// A store in the browser.
package final class StudioServer: Sendable {
    private let listener: LoopbackListener
    private let access: StudioAccess
    private let engine: StudioEngine
    private let files: StudioFiles
    /// The connections that are not authorized yet, oldest first.
    private let waiting = Mutex<[LocalSocket]>([])
    private let delayed = Atomic<Int>(0)
    private let wasOpened = ThreadLatch()
    private let isEnding = Atomic(false)
    private static let maxWaiting = 64
    private static let maxDelayed = 16
    private static let patience = Duration.seconds(5)

    /// Takes the port, and opens the store on its own thread.
    ///
    /// `options` are those of `moonpool studio` by name. Throws if the port is in use, or if the store cannot be
    /// opened.
    package init(port: UInt16, options: [String: String]) throws(StudioFailure) {
        do {
            listener = try LoopbackListener(port: port)
        } catch {
            throw StudioFailure(
                message: error.isAddressInUse
                    ? "port \(port) is in use; omit --port to take a free port" : "\(error)")
        }
        access = StudioAccess(port: listener.port)
        let files = try StudioFiles()
        self.files = files
        do throws(StudioFailure) {
            var options = options
            options["folder"] = files.folder
            options["uploads"] = files.uploadPaths.joined(separator: " ")
            engine = try StudioEngine(options) { [files] in files.receive($0) }
        } catch {
            files.remove()
            throw error
        }
    }

    /// The address that gives access to the page.
    package var address: String { "http://127.0.0.1:\(listener.port)/?token=\(access.token)" }

    /// Answers requests on another thread from now on.
    package func serve() throws(StudioFailure) {
        do {
            _ = try LoopThread(name: "studio", stackSize: 256 << 10) { [self] _ in
                while let socket = listener.accept(patience: .seconds(60)) {
                    socket.limitReads(to: Self.patience)
                    // Programs of other users can open connections, which must not keep the page from the server.
                    let oldest = waiting.withLock { waiting in
                        waiting.append(socket)
                        return waiting.count > Self.maxWaiting ? waiting.removeFirst() : nil
                    }
                    oldest?.end()
                    start(socket)
                }
            }
        } catch {
            throw StudioFailure(message: "\(error)")
        }
        engine.announce(address)
    }

    /// Opens the page in the user's browser.
    ///
    /// All users can read the arguments of programs, so the browser receives a private file that leads to the address.
    /// The file is removed after 60 seconds, or as soon as the page has been opened.
    package func openBrowser() {
        let path = files.folder + "/studio.html"
        let page =
            "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=\(address)\"><title>Moonpool</title>\n"
        guard ProcessServices.write(page, to: path, isPrivate: true) == nil else { return }
        _ = try? LoopThread(name: "browser", stackSize: 256 << 10) { _ in
            var commands = [0]
            ChildProcesses.run(
                [["/usr/bin/env", "xdg-open", path]], jobs: 1, next: { commands.popLast() },
                didEnd: { _, _ in }, whileWaiting: {})
        }
        _ = try? LoopThread(name: "browser file", stackSize: 256 << 10) { [wasOpened] _ in
            _ = wasOpened.wait(atMost: .seconds(60))
            ProcessServices.remove(path)
        }
    }

    /// Closes the store and the port, and removes the private files.
    package func end() {
        isEnding.store(true, ordering: .relaxed)
        listener.end()
        engine.end()
        files.remove()
    }

    /// Ends the process when code of the console ends the script.
    package func exitWithScript() {
        engine.whenEnded { [self] status in
            guard !isEnding.load(ordering: .relaxed) else { return }
            listener.end()
            files.remove()
            ProcessServices.exit(status)
        }
    }

    private func start(_ socket: LocalSocket) {
        do {
            _ = try LoopThread(name: "studio page", stackSize: 256 << 10) { [self] _ in
                if let request = HTTPRequest(from: socket) { answer(request, on: socket) }
                socket.end()
                endWaiting(socket)
            }
        } catch {
            socket.end()
            endWaiting(socket)
        }
    }

    private func endWaiting(_ socket: LocalSocket) {
        waiting.withLock { $0.removeAll { $0 === socket } }
    }

    private func answer(_ request: HTTPRequest, on socket: LocalSocket) {
        if let refusal = refusal(of: request) {
            if refusal.isFailedGuess, access.isGuessing() {
                let number = delayed.add(1, ordering: .relaxed).newValue
                defer { delayed.subtract(1, ordering: .relaxed) }
                guard number <= Self.maxDelayed else { return }
                _ = ThreadLatch().wait(atMost: .seconds(1))
            }
            return _ = socket.write(refusal.bytes)
        }
        if request.path == "/socket" { return serve(socket, request) }
        endWaiting(socket)
        if request.method == "POST" {
            socket.write(upload(request, from: socket).bytes)
        } else if let download = files.take(request.path) {
            send(download, on: socket)
        } else {
            socket.write(response(to: request).bytes)
        }
    }

    private func response(to request: HTTPRequest) -> HTTPResponse {
        if request.path == "/", !request.query.isEmpty {
            wasOpened.open()
            // A redirect by status would not send the new cookie after a navigation that began in another program.
            let page =
                "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=/#\(access.key)\">\n"
            return HTTPResponse(200, "text/html; charset=utf-8", Array(page.utf8), [access.cookie])
        }
        guard let file = PageFiles.file(at: request.path) else {
            return HTTPResponse(404, "The server has no such file.")
        }
        return HTTPResponse(200, file.type, file.bytes)
    }

    /// Returns the response to a request that is not allowed; nil for others.
    private func refusal(of request: HTTPRequest) -> HTTPResponse? {
        guard access.isHost(request.fields["host"]) else {
            return HTTPResponse(421, "This server answers to 127.0.0.1 only.")
        }
        let isSocket = request.path == "/socket"
        if isSocket || request.method != "GET", !access.isOrigin(request.fields["origin"]) {
            return HTTPResponse(403, "Requests of other pages are refused.")
        }
        let opens = request.method == "GET" && request.path == "/" && !request.query.isEmpty
        let isUpload = request.method == "POST" && request.path == "/upload"
        guard opens ? access.isToken(request.query) : access.hasSession(request),
            !isUpload || access.isKey(request.fields["x-moonpool-key"] ?? "")
        else { return HTTPResponse(401, "Open the address that 'moonpool studio' has printed.") }
        return request.method == "GET" || isUpload
            ? nil : HTTPResponse(405, "Only GET is supported.")
    }

    /// Writes the body of a request to a file, and returns its number.
    private func upload(_ request: HTTPRequest, from socket: LocalSocket) -> HTTPResponse {
        guard files.acceptsUploads else {
            return HTTPResponse(403, "The studio shows this store read-only.")
        }
        guard let size = request.fields["content-length"].flatMap({ Int($0) }), size >= 0
        else { return HTTPResponse(400, "The file is incomplete.") }
        guard size <= StudioFiles.largestUpload else {
            return HTTPResponse(413, "The file is larger than 1 GiB; use 'moonpool import'.")
        }
        guard let number = files.upload(size, after: request.rest, from: socket)
        else { return HTTPResponse(400, "The file is incomplete.") }
        return HTTPResponse(200, "application/json", Array("{\"upload\":\"\(number)\"}".utf8))
    }

    private func send(_ download: StudioFiles.File, on socket: LocalSocket) {
        let head = HTTPResponse(
            200,
            [
                "Content-Type: application/octet-stream",
                "Content-Disposition: attachment; filename=\"\(download.name)\"",
            ], size: ProcessServices.size(of: download.path) ?? 0)
        if socket.write(head.bytes) { _ = socket.write(fileAt: download.path) }
        ProcessServices.remove(download.path)
    }

    /// Passes messages between a page and the script until the page or the server ends.
    private func serve(_ socket: LocalSocket, _ request: HTTPRequest) {
        guard request.fields["upgrade"]?.lowercased() == "websocket",
            request.fields["sec-websocket-version"] == "13",
            let key = request.fields["sec-websocket-key"]
        else { return _ = socket.write(HTTPResponse(404, "The server has no such file.").bytes) }
        let response = HTTPResponse(
            101,
            [
                "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Accept: \(WebSocket.acceptance(of: key))",
            ])
        guard socket.write(response.bytes),
            let page = try? WebSocket(socket, unread: request.rest)
        else { return }
        // Only the page has the key: a server of another user can receive the cookie.
        guard let hello = page.receive(), access.isKey(in: hello) else {
            return page.close(.refused)
        }
        endWaiting(socket)
        page.limitReads(to: .zero)
        let number = engine.add(page)
        var message: [UInt8]? = hello
        while let text = message {
            engine.receive(text, from: number)
            message = page.receive()
        }
        engine.receive(nil, from: number)
    }
}
