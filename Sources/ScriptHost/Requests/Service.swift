import EventLoops
import LuaHost
import ObjectStore
import Replication
import StoreBindings

/// A service for scripts: a function that answers the requests to a subject.
///
/// Requests are answered on the script's loop, one at a time, in order of arrival. Releasing the handle does not stop
/// the service.
final class Service {
    /// The subject.
    let subject: String
    /// The number of requests that were answered, including those answered with an error.
    private(set) var requests = 0
    private weak var context: ScriptContext?
    private var server: (any RequestServer)?
    private var listen: ((_ subject: String) throws -> any RequestServer)?
    /// The store whose writer answers the requests, and its membership in the cluster; nil for other services.
    private var writing: (store: StoreHandle, membership: ReplicationHandle)?
    private let number: Int
    private var handler: LuaFunction?
    private var hold: LoopHold?
    private var waiting: [any ReceivedRequest] = []
    private var isAnswering = false

    /// Connects on the thread of the server, and keeps the loop running until ``stop()``.
    ///
    /// With a store, the service listens while the store is the writer of its cluster, and runs the handler in a write
    /// transaction.
    init(
        _ servers: NatsOptions, subject: String, handler: LuaFunction, number: Int,
        writing store: StoreHandle? = nil, in context: ScriptContext
    ) throws {
        self.number = number
        self.subject = subject
        self.context = context
        self.handler = handler
        let link = context.link
        let title = "the service '\(subject)'"
        let network = try CommitSinks.nats.required()
        let listen = { (subject: String) throws in
            try network.serve(servers, subject: subject) { text in
                link.postToScript { context in
                    context.configuration.report(
                        ScriptReport(
                            hint: "\(title): \(text)", program: context.configuration.programName))
                }
            } handler: { request in
                link.postToScript { $0.services.find(number)?.receive(request) }
            }
        }
        self.listen = listen
        if let store {
            let membership = try store.membership
            writing = (store, membership)
            membership.addListener(number) { [weak self] in self?.setListening($0) }
        } else {
            server = try listen(subject)
        }
        hold = context.loop.hold()
    }

    /// Begins or ends listening, after a change of the store's role.
    private func setListening(_ isListening: Bool) {
        server?.stop(waits: false)
        do {
            server = nil
            guard isListening, let writing else { return }
            server = try listen?(writing.membership.subject(subject))
        } catch {
            context?.failed(error, in: "the service '\(subject)'", token: .nil)
        }
    }

    /// Whether the service is running, even if no server can be reached at the moment.
    var isRunning: Bool { listen != nil }
    /// Whether a server is connected.
    var isConnected: Bool { server?.isConnected ?? false }
    /// The last error of the connection; nil if there was none.
    var lastError: String? { server?.lastError }

    /// The subject, and whether the service is running.
    var description: String { "service '\(subject)' (\(isRunning ? "running" : "stopped"))" }

    /// Stops the service and rejects waiting requests.
    func stop() {
        guard isRunning else { return }
        listen = nil
        server?.stop(waits: true)
        server = nil
        writing?.membership.removeListener(number)
        writing = nil
        waiting = []
        handler = nil
        hold?.release()
        hold = nil
        context?.services.remove(self)
    }

    private func receive(_ request: any ReceivedRequest) {
        waiting.append(request)
        // While a handler waits, no other request is handled.
        guard !isAnswering else { return }
        isAnswering = true
        defer { isAnswering = false }
        while let context, !context.isExiting, let handler, !waiting.isEmpty {
            answer(waiting.removeFirst(), handler, context)
            requests += 1
        }
    }

    private func answer(
        _ request: any ReceivedRequest, _ handler: LuaFunction, _ context: ScriptContext
    ) {
        let source = "the service '\(subject)'"
        do {
            let table = context.state.makeTable(fields: 2)
            table["subject"] = .text(request.subject)
            // The request to a writer begins with the identity that its commit shall have.
            let identity = writing == nil ? [] : request.body.prefix { $0 != UInt8(ascii: "\n") }
            let body =
                writing == nil ? request.body : Array(request.body[identity.count...].dropFirst())
            table["body"] = try context.storeModule.value(ofJSON: body)
            let run = { [self] () throws in
                let reply = try context.results(of: handler, [.table(table)], in: source).first
                let json = try context.storeModule.json(of: reply ?? .nil)
                // Before the commit, because an error means that there is none.
                try request.checkReply(json.count + (writing == nil ? 0 : Self.versionLine))
                if let writing, request.subject != writing.membership.subject(subject) {
                    throw StoreError(
                        .notWriter, "the request is addressed to the writer of an earlier lease")
                }
                return json
            }
            guard let store = writing?.store else { return request.answer(try run()) }
            let (reply, version) = try store.write(
                as: String(decoding: identity, as: UTF8.self), run)
            request.answer(Array("\(version)\n".utf8) + reply)
        } catch {
            let failure = RequestError(describing: error)
            request.refuse(failure)
            // An error with a code is a reply; any other error is reported as an error of the script.
            if failure.code == RequestError.uncoded || failure.code == "interrupted" {
                context.failed(error, in: source, token: .nil)
            }
        }
    }

    /// The maximum size of the line with the version before the reply to a `remote_write`.
    private static let versionLine = 21

    static let type = LuaClass<Service>(
        name: "service",
        methods: [
            LuaMethod("stop") { service, _ in
                service.stop()
                return .none
            }
        ],
        properties: [
            LuaProperty("subject") { $1.set($0.subject) },
            LuaProperty("requests") { $1.set(Int64($0.requests)) },
            LuaProperty("is_running") { $1.set($0.isRunning) },
            LuaProperty("is_connected") { $1.set($0.isConnected) },
            LuaProperty("last_error") { service, result in
                if let text = service.lastError { result.set(text) } else { result.setNil() }
            },
        ],
        metamethods: [
            LuaMethod("__close") { service, _ in
                service.stop()
                return .none
            },
            LuaMethod("__tostring") { service, call in
                call.answer(.text(service.description))
            },
        ])
}

extension RequestError: ScriptError {
    /// The error code.
    package var scriptCode: String { code }
    /// The message.
    package var scriptMessage: String { message }

    /// The code of errors without their own code.
    static let uncoded = "error"

    /// Creates the error for a requester: the code and the message of an error of Moonpool, or of a table with both
    /// fields.
    init(describing error: any Error) {
        let lua = error as? LuaError
        if let table = lua?.value.table, let code = table["code"].text,
            let message = table["message"].text
        {
            self.init(code, message)
        } else if let own = (lua?.underlying ?? error) as? any ScriptError {
            self.init(own.scriptCode, own.scriptMessage)
        } else {
            self.init(Self.uncoded, lua?.message ?? "\(error)")
        }
    }
}

/// The services of a script, and its connections for requests.
final class Services {
    private unowned let context: ScriptContext
    private var running: [Int: Service] = [:]
    private var last = 0
    private var clients: [NatsOptions: any RequestClient] = [:]

    init(_ context: ScriptContext) { self.context = context }

    /// The running services, in the order of their start.
    var all: [Service] { running.sorted { $0.key < $1.key }.map(\.value) }

    /// Starts a service.
    func start(_ make: (_ number: Int) throws -> Service) rethrows -> Service {
        last += 1
        let service = try make(last)
        running[last] = service
        return service
    }

    /// Returns the running service with a number.
    func find(_ number: Int) -> Service? { running[number] }

    /// Removes a service that has stopped.
    func remove(_ service: Service) {
        for (number, known) in running where known === service { running[number] = nil }
    }

    /// Returns the connection to servers, which is opened at the first request.
    ///
    /// Throws `unsupported` in a program without NATS.
    func client(_ servers: NatsOptions) throws -> any RequestClient {
        if let known = clients[servers] { return known }
        // Scripts use one or two connections; this limits a script that generates addresses.
        if clients.count >= 16 { closeClients() }
        let created = try CommitSinks.nats.required().client(servers)
        clients[servers] = created
        return created
    }

    /// Stops all services and closes all connections.
    func close() {
        for service in all { service.stop() }
        closeClients()
    }

    private func closeClients() {
        for client in clients.values { client.close() }
        clients = [:]
    }
}
