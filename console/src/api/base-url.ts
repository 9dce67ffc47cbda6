/** Where the service answers, with a final slash: above `/console/`, behind any path prefix. */
export const baseUrl = new URL(location.pathname.replace(/console\/.*$/, ''), location.origin).href;
