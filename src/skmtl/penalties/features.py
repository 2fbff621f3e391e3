"""The trace-norm problem seen from the features."""

import numpy as np

from skmtl._linalg import Array, symmetric_part
from skmtl.penalties.trace import Trace


class Features(Trace):
    r"""Learn few features for all tasks.

    .. math:: \min_{W, D} \; \text{loss}(W) + \alpha \operatorname{tr}(W' D^{-1} W), \quad \operatorname{tr}(D) \le 1

    The best :math:`D = (WW')^{1/2} / \operatorname{tr}((WW')^{1/2})` leaves the squared trace norm of W, which is what
    :class:`Trace` leaves too: one problem seen from two sides. So the fit, its objective and its certificate are those
    of the task side, where eps acts on the T x T structure A; the matrix D of the features is read off the solution.
    Published alternations put eps on D instead. Both give the same predictor as eps goes to 0.

    See Also
    --------
    Trace : The same problem, seen from the tasks.

    References
    ----------
    Argyriou, Evgeniou, Pontil. Convex multi-task feature learning. Machine Learning 2008.

    Examples
    --------
    Two tasks that use the first feature alone leave nothing but ``eps`` to the second:

    >>> import numpy as np
    >>> from skmtl.penalties import Features
    >>> Features().feature_structure(np.array([[3.0, 1.0], [0.0, 0.0]]), eps=1e-4).round(3)
    array([[0.997, 0.   ],
           [0.   , 0.003]])
    """

    name = "features"
    tex = r"\operatorname{tr}(W^\top D^{-1} W), \; \operatorname{tr}(D) \le 1"
    reference = "Argyriou, Evgeniou, Pontil, 2008"
    on_features = True
    by_default = False

    def __init__(self) -> None:
        super().__init__()

    def feature_structure(self, W: Array, eps: float) -> Array:
        r"""The matrix of the features, :math:`D = (WW' + \epsilon I)^{1/2} / \operatorname{tr}(\cdot)`.

        Parameters
        ----------
        W : ndarray of shape (r, n_tasks)
            Coefficients in an orthonormal basis of r features.
        eps : float
            Keeps D away from singular matrices, > 0.

        Returns
        -------
        ndarray of shape (r, r)
        """
        U, w, _ = np.linalg.svd(W, full_matrices=False)
        floor = np.sqrt(eps)
        # sqrt(w^2 + eps) - sqrt(eps), without cancellation; features that no task uses have sqrt(eps) alone.
        above = w * w / (np.sqrt(w * w + eps) + floor)
        D: Array = symmetric_part((U * above) @ U.T) + floor * np.eye(len(W))
        D /= float(np.trace(D))
        return D
