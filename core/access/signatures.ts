/** The signature algorithms of tokens that the API can verify; never a symmetric one. */
export const SIGNATURES = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
