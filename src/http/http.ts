// The door of HTTP mechanics: sockets, limits, bodies, addresses, CORS, responses. Knows no routes, keys or messages.

export { clientAddress, isOverTls } from './client-address.ts';
export { compressJson, negotiateEncoding } from './compress-json.ts';
export { allowOrigin, corsHeaders, preflightResponse, refuseCrossSite } from './cors.ts';
export { type Exchanged, exchange } from './exchange.ts';
export { LoopDelay } from './loop-delay.ts';
export { BodiesInFlight, parseJsonObject, RequestBody, readBounded } from './read-body.ts';
export { Form, type FormFile, type FormLimits, readForm } from './read-form.ts';
export {
  errorResponse,
  pathOf,
  queryOf,
  readApiKey,
  readBearer,
  type SharedHeaders,
  securityHeaders,
  shareHeaders,
  toResponse,
  withSecurityHeaders,
} from './reply.ts';
export { findHeadFault } from './request-head.ts';
export { type Connection, type HttpServer, ListenerLost, type ServeOptions, serveHttp } from './serve-http.ts';
export { readTlsPair, type TlsEvent, TlsFiles, type TlsPair, type TlsPaths } from './tls-files.ts';
