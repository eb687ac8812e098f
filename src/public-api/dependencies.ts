// The gateway, settings and observers that the public API is given.

import type { AgentSignIn, TelemetryRelay, TelemetrySender } from '../agents/agents.ts';
import type { AddressRange } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import type { Batch, BatchStore, NewBatch } from '../batches/batches.ts';
import type { Settings } from '../catalog/catalog.ts';
import type { TurnpikeError } from '../errors.ts';
import type { Files, StoredFile } from '../files/files.ts';
import type { answerCaller, ClientRequest, Reply } from '../gateway/gateway.ts';
import type { BodiesInFlight } from '../http/http.ts';
import type { Spool } from '../spool/spool.ts';

/** The gateway with its dependencies bound. All methods throw or reject with TurnpikeError; `submitMessage` also returns it. */
export interface MessageGateway {
  submitMessage(clientRequest: ClientRequest): Reply | TurnpikeError | Promise<Reply | TurnpikeError>;
  countTokens(clientRequest: ClientRequest): Promise<Reply>;
  listModels(clientRequest: ClientRequest): Promise<Reply>;
  getModel(clientRequest: ClientRequest, id: string): Promise<Reply>;
  getKey(clientRequest: ClientRequest): Promise<Reply>;
  getUsage(clientRequest: ClientRequest, requestId: string): Promise<Reply>;
}

/** Files, and the authentication of those who ask for them. */
export interface FileEndpoints {
  files: Files;
  /** As the function of the gateway with this name. */
  answerCaller<Body>(
    clientRequest: ClientRequest,
    answer: Parameters<typeof answerCaller<Body>>[2],
  ): ReturnType<typeof answerCaller<Body>>;
}

/** Batches, and what their endpoints need besides. */
export interface BatchEndpoints {
  store: BatchStore;
  files: Files;
  answerCaller: FileEndpoints['answerCaller'];
  make(batch: NewBatch, input: StoredFile, place: (position: number) => string): Promise<Batch>;
  /** A batch was made or canceled. */
  look(): void;
}

/** Sign-in of coding agents, and what they ask beside messages. */
export interface AgentEndpoints {
  /** As the functions of the gateway with these names. */
  getManagedSettings(clientRequest: ClientRequest, telemetryUrl: string | null, known: string | null): Promise<Reply>;
  getSpending(clientRequest: ClientRequest): Promise<Reply>;
  identifyAgent(clientRequest: ClientRequest): Promise<TelemetrySender>;
  signIn: Pick<AgentSignIn, 'requireOn' | 'metadata' | 'authorizeDevice' | 'token' | 'revoke'>;
  /** The origin of the console; null: that of the request. */
  consoleOrigin(): string | null;
  /** Passes on the telemetry of clients; null: it is dropped. */
  relay: TelemetryRelay | null;
}

/** The record of one answered request, for logs and metrics. For streams: when they began. */
export interface Answered {
  requestId: string;
  receivedAtMs: number;
  durationMs: number;
  method: string;
  path: string;
  /** The client's IP address, through trusted proxies. */
  address: string;
  status: number;
  /** null for a request that is not for the public API. */
  clientRequest: Pick<ClientRequest, 'trace' | 'times' | 'caller' | 'replayOf'> | null;
  /** The refusal or failure, with its cause for operators. */
  failure: TurnpikeError | null;
}

export interface PublicDependencies {
  messages: MessageGateway;
  /** Absent: coding agents cannot sign in. */
  agents?: AgentEndpoints;
  /** Absent: clients cannot store files. */
  files?: FileEndpoints;
  /** Absent: clients cannot make batches. */
  batches?: BatchEndpoints;
  bodies: BodiesInFlight;
  /** Files of forms while their request runs. */
  spool: Spool;
  /** Read for every request, so it must not compute anything; `openMessages` includes streams. */
  load: { loopDelayMs(): number; openMessages(): number };
  clock: Clock;
  settings(): Pick<
    Settings,
    'vendorPrefixes' | 'errorStatuses' | 'bodyBytesMax' | 'fileBytesMax' | 'shedLoopDelayMs' | 'shedOpenMessages'
  >;
  trustedProxies: readonly AddressRange[];
  /** Whether reports need the client's address, which the runtime forgets when the client disconnects. */
  reportsAddress: boolean;
  /** Whether load balancers should send messages elsewhere: true from the start of a shutdown. */
  isLeaving(): boolean;
  /** Whether messages are refused, which may begin later. */
  isDraining(): boolean;
  /** Whether the store responds; a rejection counts as no. */
  isStoreAvailable(): boolean | Promise<boolean>;
  /** Called once per response, except for preflights and admitted messages, which the gateway reports. */
  report(answered: Answered): void;
}
