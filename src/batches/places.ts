// Sets of places of requests, as text.

import { parseWholeNumber } from '../base/checked-number.ts';

/** Places in ascending order, as ranges such as "0-41,43". */
export function writePlaces(places: readonly number[]): string {
  const ranges: string[] = [];
  let first = -1;
  for (const [at, place] of places.entries()) {
    if (first < 0) first = place;
    if (places[at + 1] === place + 1) continue;
    ranges.push(first === place ? String(first) : `${first}-${place}`);
    first = -1;
  }
  return ranges.join(',');
}

/** Text that `writePlaces` did not write has no places. */
export function readPlaces(text: string): Set<number> {
  const places = new Set<number>();
  for (const range of text.split(',')) {
    const [first, last = first] = range.split('-').map(parseWholeNumber);
    if (first == null || last == null) continue;
    for (let place = first; place <= last; place++) places.add(place);
  }
  return places;
}
