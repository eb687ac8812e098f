// The door of HTTP's mechanics: sockets, limits, bodies, addresses, CORS, answers. It knows no
// route, no key and no message.

export { readBearer } from './bearer.ts';
export { clientAddress, isOverTls } from './client-address.ts';
export { corsHeaders, preflightResponse } from './cors.ts';
export { refuseCrossSite } from './cross-site.ts';
export { LoopDelay } from './loop-delay.ts';
export { BodiesInFlight, RequestBody } from './read-body.ts';
export { type Answer, errorResponse, toResponse } from './reply.ts';
export { pathOf, queryOf } from './request-path.ts';
export { securityHeaders, withSecurityHeaders } from './security-headers.ts';
export { type Connection, type HttpServer, ListenerLost, type ServeOptions, serveHttp } from './serve-http.ts';
export { readTlsPair, type TlsEvent, TlsFiles, type TlsPair, TlsPairBroken, type TlsPaths } from './tls-files.ts';
