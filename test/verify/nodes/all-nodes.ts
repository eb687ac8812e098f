// Several nodes as if they were one service, as a load balancer would: each message goes to the next of them. Writes down which node
// answered what, and when.

import type { Turnpike } from '../../support/start-turnpike.ts';
import type { Nodes, ServiceNode } from './start-nodes.ts';

/** One message that was sent to a node; times by `performance.now()`. */
export interface Asked {
  node: ServiceNode;
  sentMs: number;
  answeredMs: number;
  /** Null: the node gave no answer. */
  status: number | null;
  requestId: string | null;
}

export interface AllNodes {
  turnpike: Turnpike;
  /** The same of one node alone. */
  only(node: ServiceNode): Turnpike;
  asked: Asked[];
  /** Nothing is sent to these. */
  passedOver: Set<ServiceNode>;
}

export function callAll({ all }: Nodes, passedOverFirst: readonly ServiceNode[] = []): AllNodes {
  const asked: Asked[] = [];
  const passedOver = new Set(passedOverFirst);
  let turns = 0;
  const next = () => {
    const open = all.filter((node) => !passedOver.has(node));
    turns++;
    return open[turns % open.length] as ServiceNode;
  };
  const as = (choose: () => ServiceNode): Turnpike => ({
    ...choose().service,
    admin: (method, path, body) => choose().service.admin(method, path, body),
    async post(secret, body, more) {
      const node = choose();
      const note: Asked = { node, sentMs: performance.now(), answeredMs: 0, status: null, requestId: null };
      asked.push(note);
      try {
        const response = await node.service.post(secret, body, more);
        note.status = response.status;
        note.requestId = response.headers.get('request-id');
        return response;
      } finally {
        note.answeredMs = performance.now();
      }
    },
  });
  return { turnpike: as(next), only: (node) => as(() => node), asked, passedOver };
}
