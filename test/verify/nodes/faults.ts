// Faults while messages stream: killed or suspended nodes, the database, and the connection between them. Each names
// its effect, how it is undone, and the nodes that it affects.

import type { FaultProxy } from '../../support/fault-proxy.ts';
import type { ServiceNode } from './start-nodes.ts';
import type { World } from './trial.ts';

/** How long faults last that last. */
export interface FaultLengths {
  /** Longer than the lease of a suspended node. */
  stopSeconds: number;
  /** Longer than all leases, for an unavailable database. */
  awaySeconds: number;
  /** Longer than the write timeouts, for a silent connection. */
  silenceSeconds: number;
}

export interface NodesFault {
  name: string;
  /** Nodes that it affects directly. The others must keep serving, unless the database fails. */
  befalls(world: World): readonly ServiceNode[];
  /** No node has the store meanwhile. */
  isOfStore: boolean;
  /** Other nodes end the holds of a suspended or dead node. */
  isOfNode: boolean;
  /** Those that answer nothing any more. */
  kills(world: World): readonly ServiceNode[];
  begin(world: World): Promise<void>;
  lastsMs: number;
  end(world: World): Promise<void>;
}

const SECOND_MS = 1000;
const CUTS_REST_MS = 400;

export function listFaults({ stopSeconds, awaySeconds, silenceSeconds }: FaultLengths): NodesFault[] {
  return [
    {
      name: 'one node killed, one suspended',
      befalls: ({ nodes }) => nodes.all.slice(1),
      isOfStore: false,
      isOfNode: true,
      kills: ({ nodes }) => nodes.all.slice(1, 2),
      lastsMs: stopSeconds * SECOND_MS,
      async begin({ nodes }) {
        nodes.all[1]?.kill();
        nodes.all[2]?.suspend();
      },
      async end({ nodes }) {
        nodes.all[2]?.resume();
        await nodes.all[1]?.start();
      },
    },
    ofStore('the database restarted', 0, async ({ nodes }) => nodes.postgres.stop('fast')),
    ofStore('the database crashed', 0, async ({ nodes }) => nodes.postgres.stop('immediate')),
    ofStore('the database away', awaySeconds * SECOND_MS, async ({ nodes }) => nodes.postgres.stop('fast')),
    ofWay('connections reset', 0, async (proxy) => {
      for (let cut = 0; cut < 5; cut++) {
        proxy.cut(cut % 2 === 0 ? 'reset' : 'end');
        await Bun.sleep(CUTS_REST_MS);
      }
    }),
    ofWay('nothing reaches the database', silenceSeconds * SECOND_MS, async (proxy) => proxy.lose('toServer')),
    ofWay('nothing reaches the node', silenceSeconds * SECOND_MS, async (proxy) => proxy.lose('toClient')),
    ofWay('all held back, then delivered', silenceSeconds * SECOND_MS, async (proxy) => proxy.hold()),
  ];
}

function ofStore(name: string, lastsMs: number, begin: NodesFault['begin']): NodesFault {
  return {
    name,
    befalls: ({ nodes }) => nodes.all,
    isOfStore: true,
    isOfNode: false,
    kills: () => [],
    lastsMs,
    begin,
    end: ({ nodes }) => nodes.postgres.start(),
  };
}

/** Between the first node and the database. */
function ofWay(name: string, lastsMs: number, begin: (proxy: FaultProxy) => Promise<void>): NodesFault {
  const wayOf = ({ nodes }: World) => nodes.all[0]?.proxy as FaultProxy;
  return {
    name,
    befalls: ({ nodes }) => nodes.all.slice(0, 1),
    isOfStore: false,
    isOfNode: false,
    kills: () => [],
    lastsMs,
    begin: (world) => begin(wayOf(world)),
    end: async (world) => wayOf(world).heal(),
  };
}
