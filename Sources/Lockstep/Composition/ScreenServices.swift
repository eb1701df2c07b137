/// What the reactors of screens work with. Each can be put in another's place, here and nowhere else.
struct ScreenServices: Sendable {
  var states: any UserStates
}
