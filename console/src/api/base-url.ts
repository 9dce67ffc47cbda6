/** Where the service answers, with a final slash: above `/console/`, behind any path prefix. */
export const baseUrl = new URL(location.pathname.split('console/', 1)[0] as string, location.origin).href;
