// The page is at PREFIX/ui/, the API beside it at PREFIX/api/v1/.
export const apiUrl = (path: string): string => new URL(`../api/v1/${path}`, document.baseURI).href;
