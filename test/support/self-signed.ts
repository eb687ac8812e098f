// A certificate that nobody has signed but itself, and its key: for servers that must not be trusted. Made for
// tests, opens nothing.

export const selfSigned = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUHVZuynrDq1TSkJBqnnLCONJeiykwCgYIKoZIzj0EAwIw
HzEdMBsGA1UEAwwUcHJvdmlkZXIuZXhhbXBsZS5jb20wIBcNMjYxMTIwMTM0MzAx
WhgPMjEyNjEwMjcxMzQzMDFaMB8xHTAbBgNVBAMMFHByb3ZpZGVyLmV4YW1wbGUu
Y29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+XC0fl5Amzqn5yYUDWwKGwrm
dA5LyjKBeD8xIeLTCVqbsdn5CjkegyIsBP1sjNNx12Lyjb4AMXVvX5NOLNFqrKNT
MFEwHQYDVR0OBBYEFKSF8SN1owr5d01Piz/3wMSgOR7JMB8GA1UdIwQYMBaAFKSF
8SN1owr5d01Piz/3wMSgOR7JMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwID
SAAwRQIgcLdYN2uLptDAO0Z/fyXbYG5TWjo4ErvibNkhzlZcptcCIQDuTVmo1Qdj
ZWk9+yPq28waz3mbm6F970uDmbCmrsRrEw==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWtH/Hkan3zkHIGr4
f1VKabwk2Ynm+BjWfF3vXzrGf7ShRANCAAT5cLR+XkCbOqfnJhQNbAobCuZ0DkvK
MoF4PzEh4tMJWpux2fkKOR6DIiwE/WyM03HXYvKNvgAxdW9fk04s0Wqs
-----END PRIVATE KEY-----
`,
};
