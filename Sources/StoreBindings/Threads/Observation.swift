import ObjectStore

/// What a token in a script's hands stands for: an observer of its own thread, or of another one.
protocol Observation: AnyObject {
    var isValid: Bool { get }
    var endHandler: (() -> Void)? { get set }
    var dependencies: [String] { get }
    var cost: String { get }
    var statistics: ObserverStatistics { get }
    var reason: DeliveryReason? { get }
    func invalidate()
}

extension NotificationToken: Observation {}
