// Pairs results with the calls of the model's last turn: by id, or by name in order, because calls need no ids.

import { wrongField } from '../../wire/wire.ts';

interface OpenCall {
  /** In the message. */
  id: string;
  isAnswered: boolean;
}

/** Calls that a result may belong to, oldest first; those before `next` are answered. */
interface Queue {
  calls: OpenCall[];
  next: number;
}

export class OpenCalls {
  readonly #byId = new Map<string, Queue>();
  readonly #byName = new Map<string, Queue>();
  readonly #byNameAlone = new Map<string, Queue>(); // calls without an id

  /** A call with the client's id, which may be empty, and its id in the message. */
  add(given: string, name: string, id: string): void {
    const call = { id, isAnswered: false };
    addTo(this.#byName, name, call);
    if (given === '') addTo(this.#byNameAlone, name, call);
    else addTo(this.#byId, given, call);
  }

  /** The call's id in the message; null if it is answered already. Throws invalid_request without a call. */
  answer(given: string, name: string, path: string): string | null {
    const queue = given === '' ? this.#byName.get(name) : (this.#byId.get(given) ?? this.#byNameAlone.get(name));
    if (queue === undefined) throw wrongField(path, 'there is no functionCall for it in the content before');
    while (queue.calls[queue.next]?.isAnswered === true) queue.next++;
    const call = queue.calls[queue.next];
    if (call === undefined) return null;
    call.isAnswered = true;
    return call.id;
  }
}

function addTo(queues: Map<string, Queue>, key: string, call: OpenCall): void {
  const queue = queues.get(key);
  if (queue === undefined) queues.set(key, { calls: [call], next: 0 });
  else queue.calls.push(call);
}
