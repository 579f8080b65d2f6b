// Lines differ in colour and in their dashes, as those of `schedulearn plot` do; app.css has the colours.
export const dashes = [[], [8, 3], [2, 2], [9, 3, 2, 3], [12, 4], [4, 2], [2, 4], [9, 2, 2, 2, 2, 2]];
