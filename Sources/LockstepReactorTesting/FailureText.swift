import LockstepReactor

/// The failure messages of a `TestReactor`: what happened, why, and how to fix it.
enum FailureText {
  static func wrongState(_ title: String, _ difference: String) -> String {
    text(
      "\(title) is not as asserted:",
      difference,
      "(− expected, + actual) Correct the assertion, or the reduce function."
    )
  }

  static func noState(_ title: String, _ difference: String) -> String {
    text(
      "\(title) did not come. Expected:",
      difference,
      "(− expected, + current) Nothing has changed since the last asserted state. If time must pass first, "
        + "call advance(by:); if nothing should change, remove the assertion."
    )
  }

  static func noChange(_ title: String) -> String {
    text(
      "\(title) did not come.",
      "The closure changes nothing, and a host never shows a state that equals the one before. Remove the "
        + "closure: the test reactor checks anyway that no other state comes."
    )
  }

  static func unassertedStates(_ moment: String, _ differences: [String]) -> String {
    text(
      "\(count(differences.count, "state was", "states were")) not asserted before \(moment):",
      differences.joined(separator: "\n\n"),
      "(− before, + after) Assert each with a closure of send(_:_:) or receive(_:), or skip them with skipStates()."
    )
  }

  static func unassertedFailures<Action>(_ moment: String, _ failures: [ReactorFailure<Action>]) -> String {
    text(
      "\(count(failures.count, "error was", "errors were")) not asserted before \(moment):",
      lines(failures.map(line)),
      "Assert each with receiveFailure(), or handle it in the effect and make it a mutation."
    )
  }

  static func noFailure(_ description: String) -> String {
    text(
      "Expected \(description), but none was reported.",
      "If time must pass first, call advance(by:). An error that an effect catches itself is not reported."
    )
  }

  static func wrongFailure<Action>(_ description: String, _ failure: ReactorFailure<Action>) -> String {
    text(
      "Expected \(description), but another error was reported:",
      lines([line(failure)]),
      "Correct the assertion, or what the effect throws."
    )
  }

  static func unassertedIgnored<Action>(_ moment: String, _ actions: [Action]) -> String {
    text(
      "\(count(actions.count, "action was", "actions were")) ignored, and that was not asserted before \(moment):",
      lines(actions),
      "Another effect of its lane runs, or transform(action:) drops the action. Assert it with receiveIgnored(), or "
        + "do not send it."
    )
  }

  static func noneIgnored(_ description: String) -> String {
    text(
      "Expected \(description) to be ignored, but no action was ignored.",
      "Correct the assertion, or the policy of the action."
    )
  }

  static func wrongIgnored<Action>(_ description: String, _ action: Action) -> String {
    text(
      "Expected \(description) to be ignored, but another action was:",
      lines([action]),
      "Correct the assertion, or the policy of the action."
    )
  }

  static func runningEffects<Action>(_ moment: String, _ actions: [Action], allowed: Int) -> String {
    if actions.count < allowed {
      let verb = actions.count == 1 ? "is" : "are"
      return text(
        "Expected \(count(allowed, "running effect", "running effects")) at \(moment), but there "
          + "\(verb) \(actions.count).",
        "An effect that should still run has ended. Correct finish(running:), or the effect."
      )
    }
    return text(
      "\(count(actions.count, "effect is", "effects are")) still running at \(moment):",
      lines(actions),
      "Let them end with advance(by:), cancel them with an action, or expect them with "
        + "finish(running: \(actions.count))."
    )
  }

  static func refused(_ action: String) -> String {
    text(
      "send(\(action)) was refused: too many actions wait or have a running effect.",
      "Let effects end with advance(by:) before sending more."
    )
  }

  private static func text(_ paragraphs: String...) -> String { paragraphs.joined(separator: "\n\n") }

  private static func lines<Item>(_ items: [Item]) -> String {
    items.map { "    \($0)" }.joined(separator: "\n")
  }

  private static func count(_ number: Int, _ one: String, _ many: String) -> String {
    "\(number) \(number == 1 ? one : many)"
  }

  private static func line<Action>(_ failure: ReactorFailure<Action>) -> String {
    switch failure.origin {
    case .action(let action): "\(failure.error), from \(action)"
    case .actionStream: "\(failure.error), from a stream merged into the actions"
    case .mutationStream: "\(failure.error), from a stream merged into the mutations"
    case .stateStream: "\(failure.error), from a stream merged into the states"
    }
  }
}
