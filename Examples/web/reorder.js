// Lets the user move the rows of a list: by drag and drop, with Alt and an arrow key, and with
// buttons that have data-move="-1" or "1".

/** Calls `move(row, index)` when the user moves a row. Returns a function: whether a row is dragged. */
export function reorder(list, move) {
  let dragged
  const place = row => [...list.children].indexOf(row)

  list.addEventListener('click', ({ target }) => {
    const row = target.closest('li')
    if (target.dataset.move) move(row, place(row) + Number(target.dataset.move))
  })
  list.addEventListener('keydown', event => {
    const by = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key]
    if (!by) return
    event.preventDefault()
    const row = event.target.closest('li')
    move(row, place(row) + by)
  })
  list.addEventListener('dragstart', event => {
    dragged = event.target.closest('li')
    event.dataTransfer.setData('text/plain', dragged.innerText)
  })
  list.addEventListener('dragover', event => {
    if (!dragged) return
    event.preventDefault()
    const over = event.target.closest('li')
    if (!over || over === dragged) return
    const { top, height } = over.getBoundingClientRect()
    over[event.clientY < top + height / 2 ? 'before' : 'after'](dragged)
  })
  list.addEventListener('drop', event => event.preventDefault())
  list.addEventListener('dragend', event => {
    const row = dragged
    dragged = undefined
    // Without an index, the row goes back: the user has pressed Escape, or dropped it elsewhere.
    move(row, event.dataTransfer.dropEffect === 'none' ? undefined : place(row))
  })
  return () => dragged !== undefined
}
