// Other bounds for a test, in this process.

import { bounds } from '../../src/config/config.ts';

/** Changes these bounds until disposed. */
export function setBounds(changes: { [Name in keyof typeof bounds]?: number }): Disposable {
  const before = Object.fromEntries(Object.keys(changes).map((name) => [name, bounds[name as keyof typeof bounds]]));
  Object.assign(bounds, changes);
  return { [Symbol.dispose]: () => void Object.assign(bounds, before) };
}
