// Sets of places against sets of the language, and texts that are not theirs.

import { expect, test } from 'bun:test';
import { Places } from '../../../src/batches/places.ts';
import { makeRandom } from '../../support/random.ts';

test('places are those of a set, and their text has them', () => {
  const random = makeRandom(1);
  const [places, set] = [new Places(), new Set<number>()];
  for (let count = 0; count < 500; count++) {
    const place = Math.floor(random() * 700);
    places.add(place);
    set.add(place);
  }
  const read = Places.read(places.text);
  expect([places.size, read.size]).toEqual([set.size, set.size]);
  for (let place = 0; place < 1_000; place++)
    expect([places.has(place), read.has(place)]).toEqual(Array(2).fill(set.has(place)));
  read.deleteAll(Places.read('0-99,200,650-2000'));
  for (let place = 0; place < 1_000; place++)
    expect(read.has(place)).toBe(set.has(place) && place >= 100 && place !== 200 && place < 650);
});

test.each([
  ['', '', 0],
  ['0', '0', 1],
  ['0-41,43', '0-41,43', 43],
  ['5,3-4,4', '3-5', 3],
  ['1-x,-3,2-1,1e3,9007199254740992,0-99999999', '', 0],
])('the text %p has the places %p', (text, written, size) => {
  const places = Places.read(text);
  expect([places.text, places.size]).toEqual([written, size]);
});
