// What a model of a file takes from the price list: `catalogue: true` its price, `cost: catalogue`
// the cost of a route. It is put in its place before the file is read, and so it is what is stored.

import { type Fault, membersOf } from './fault.ts';
import { findListed, type ListedModel } from './price-list/price-list.ts';

/** A model's members as a file would have them that states every price itself. */
export interface Taken {
  members: unknown;
  /** The day of the list that the price is from; null when the file states it. */
  listedOn: string | null;
}

type Path = readonly (string | number)[];

const FROM_LIST = 'catalogue';
const STAND_IN = { input: '0', output: '0' }; // where a fault was found already, so that no second one is made of it

/** Takes from the list what the model `name` asks for. Where faults are added, the members are for finding more of them only. */
export function takeListed(name: string, object: unknown, path: Path, faults: Fault[]): Taken {
  if (typeof object !== 'object' || object === null || Array.isArray(object))
    return { members: object, listedOn: null };
  const members = membersOf(object, [], []);
  const listedOn = takePrice(name, members, path, faults);
  const routes = members.get('routes');
  if (Array.isArray(routes))
    members.set(
      'routes',
      routes.map((route, at) => takeCost(name, route, [...path, 'routes', at], faults)),
    );
  return { members: Object.fromEntries(members), listedOn };
}

/** What the file gives itself stays as it is given. */
function takePrice(name: string, members: Map<string, unknown>, path: Path, faults: Fault[]): string | null {
  const asked = members.get(FROM_LIST);
  members.delete(FROM_LIST);
  if (asked === undefined || asked === false) return null;
  const listed = asked === true ? findListed(namesOf(name, members)) : null;
  const message = faultOf(asked, listed, members);
  if (message !== null) faults.push({ path: [...path, FROM_LIST], message });
  if (listed === null || message !== null) {
    if (!members.has('price')) members.set('price', STAND_IN);
    return null;
  }
  members.set('price', listed.price);
  const others = {
    display_name: listed.displayName,
    max_input_tokens: listed.maxInputTokens,
    max_output_tokens: listed.maxOutputTokens,
  };
  for (const [member, value] of Object.entries(others)) if (!members.has(member)) members.set(member, value);
  return listed.asOf;
}

function faultOf(asked: unknown, listed: ListedModel | null, members: ReadonlyMap<string, unknown>): string | null {
  if (typeof asked !== 'boolean') return 'must be true or false';
  if (members.has('price')) return 'a price stands beside it: leave out one of the two';
  return listed === null
    ? 'the price list does not know this model, nor its aliases and first route: give a price'
    : null;
}

/** The names that a model may have on the list: its own, its aliases, and what its first route calls it. */
function namesOf(name: string, members: ReadonlyMap<string, unknown>): string[] {
  const aliases = members.get('aliases');
  const routes = members.get('routes');
  const upstream = membersOf(Array.isArray(routes) ? routes[0] : null, [], []).get('model');
  const others: unknown[] = [...(Array.isArray(aliases) ? aliases : []), upstream];
  return [name, ...others.filter((other) => typeof other === 'string')];
}

function takeCost(name: string, route: unknown, path: Path, faults: Fault[]): unknown {
  const members = membersOf(route, [], []);
  if (members.get('cost') !== FROM_LIST) return route;
  const upstream = members.get('model') ?? name;
  const listed = typeof upstream === 'string' ? findListed([upstream]) : null;
  if (listed === null)
    faults.push({
      path: [...path, 'cost'],
      message: 'the price list does not know the model of this route: give the cost',
    });
  members.set('cost', listed === null ? STAND_IN : listed.price);
  return Object.fromEntries(members);
}
