"""A client's copy of a user's state. It applies changesets as a table view does, and is strict: a change that
is sent twice is an error, as is a change that is missing."""

import json

from support.fault import Broken


class Copy:
    def __init__(self):
        # The lists by the names of their collections, each an array of pairs of an id and the item as text.
        self.lists = {}
        # The maps by the names of their collections, each with the values as text.
        self.maps = {}

    def __eq__(self, other):
        return self.lists == other.lists and self.maps == other.maps

    def __str__(self):
        return f"{self.lists} {self.maps}"

    def duplicate(self):
        new = Copy()
        new.lists = {name: list(items) for name, items in self.lists.items()}
        new.maps = {name: dict(values) for name, values in self.maps.items()}
        return new

    def value(self, key, suite="standard"):
        text = self.maps.get(f"defaults/{suite}", {}).get(key)
        return None if text is None else json.loads(text)

    def values(self, suite="standard"):
        return {key: json.loads(text) for key, text in self.maps.get(f"defaults/{suite}", {}).items()}

    def items(self, name="favorites"):
        return [json.loads(text) for _, text in self.lists.get(name, [])]

    def reset(self, changesets):
        """Replaces the copy by whole collections."""
        self.lists, self.maps = {}, {}
        for changeset in changesets:
            name = changeset["collection"]
            if "items" in changeset:
                items = [pair(item) for item in changeset["items"]]
                require(len({each for each, _ in items}) == len(items), f"{name} has an id twice")
                self.keep(self.lists, name, items)
            else:
                self.keep(self.maps, name, {key: text(value) for key, value in changeset["values"].items()})

    @staticmethod
    def keep(collections, name, contents):
        """A collection without elements is the same as no collection."""
        if contents:
            collections[name] = contents
        else:
            collections.pop(name, None)

    def apply(self, changesets):
        """Applies changesets. Each is of another collection, and none is empty."""
        names = [changeset["collection"] for changeset in changesets]
        require(len(set(names)) == len(names), f"two changesets of one collection: {names}")
        for changeset in changesets:
            try:
                if changeset["kind"] == "list":
                    self.apply_to_list(changeset["collection"], changeset)
                else:
                    self.apply_to_map(changeset["collection"], changeset)
            except Broken as error:
                raise Broken(f"{error} in {json.dumps(changeset)[:600]}, applied to {str(self)[:600]}") from error

    def apply_to_map(self, name, changeset):
        new = {key: text(value) for key, value in changeset["set"].items()}
        require(new or changeset["removed"], "nothing is different")
        values = dict(self.maps.get(name, {}))
        for key, value in new.items():
            require(values.get(key) != value, f"{key} has that value already")
            values[key] = value
        for key in changeset["removed"]:
            require(key not in new and key in values, f"{key} is not there to be removed")
            del values[key]
        self.keep(self.maps, name, values)

    def apply_to_list(self, name, changeset):
        old = self.lists.get(name, [])
        deletions = [(each["index"], each["id"]) for each in changeset["deletions"]]
        moves = [(each["from"], each["id"]) for each in changeset["moves"]]
        insertions = [(each["index"], pair(each["item"])) for each in changeset["insertions"]]
        modifications = changeset["modifications"]
        require(deletions or moves or insertions or modifications, "nothing is different")
        for places in (deletions, moves, insertions):
            require(ascends([index for index, _ in places]), "places are not in ascending order")
        # First remove all deleted elements and the sources of all moves. Their places refer to the old list.
        new = list(old)
        for index, element in sorted(deletions + moves, reverse=True):
            require(index < len(old) and old[index][0] == element, f"{element} is not at {index}")
            del new[index]
        # Then insert all new elements and the targets of all moves. Their places refer to the new list.
        arrivals = insertions + [(each["to"], old[each["from"]]) for each in changeset["moves"]]
        for index, item in sorted(arrivals):
            require(index <= len(new), f"there is no place {index}")
            require(all(item[0] != each for each, _ in new), f"{item[0]} is there already")
            new.insert(index, item)
        inserted = {item[0] for _, item in insertions}
        require(all(element not in inserted for _, element in deletions), "a deleted element is inserted again")
        require(ascends([each["index"] for each in modifications]), "modifications are not in ascending order")
        for each in modifications:
            item, index, new_index = pair(each["item"]), each["index"], each["newIndex"]
            require(index < len(old) and old[index][0] == item[0], f"{item[0]} was not at {index}")
            require(new_index < len(new) and new[new_index][0] == item[0], f"{item[0]} is not at {new_index}")
            require(old[index] != item, f"{item[0]} has that content already")
            new[new_index] = item
        require(len(moves) == fewest_moves(old, new), "there are more moves than necessary")
        self.keep(self.lists, name, new)


def fewest_moves(old, new):
    """All elements that are in both lists, except the longest sequence that keeps its order."""
    places = {element: place for place, (element, _) in enumerate(old)}
    survivors = [places[element] for element, _ in new if element in places]
    # For each length, the smallest last element of an ascending sequence of that length.
    ends = []
    for place in survivors:
        position = next((index for index, end in enumerate(ends) if end >= place), len(ends))
        ends[position : position + 1] = [place]
    return len(survivors) - len(ends)


def text(value):
    return json.dumps(value, sort_keys=True)


def pair(item):
    return (item["id"], text(item))


def ascends(numbers):
    return all(first < second for first, second in zip(numbers, numbers[1:]))


def require(holds, what):
    if not holds:
        raise Broken(what)
