import LockstepMiddleware
import LockstepScreens

extension ScreenMetrics {
  /// Writes the metric families of screens.
  func write(to page: inout MetricsPage) {
    page.single("lockstep_screens", .gauge, "Screens open now.", Double(open))
    page.family("lockstep_screens_opened_total", .counter, "Screens opened, by their kind.")
    for (kind, count) in opened.sorted(by: { $0.key < $1.key }) { page.sample(Double(count), [("screen", kind)]) }
    page.family("lockstep_screen_failures_total", .counter, "Failures of screens' effects and merged streams, by kind.")
    for kind in opened.keys.sorted() { page.sample(Double(failures[kind] ?? 0), [("screen", kind)]) }
    page.family("lockstep_screens_ended_total", .counter, "Screens that have ended, by why.")
    for reason in ScreenEnd.allCases { page.sample(Double(ended[reason] ?? 0), [("reason", reason.rawValue)]) }
  }
}
